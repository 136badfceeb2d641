"""Engram's own command line: its verbs, messages and exit codes, for a program called `engram`.

It reads arguments as the Go program does and goes past the libraries of the other command line, which would
take longer to load than most verbs take to answer.
"""

from __future__ import annotations

import importlib
import os
import sqlite3
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple, NoReturn

from anamnesis.engram import VERSION
from anamnesis.errors import AnamnesisError
from anamnesis.verbs.console import Stop, say, tell


class Verb(NamedTuple):
    """Where its function is, called `run_` and its name; what it takes; what it does."""

    module: str
    takes: str
    does: str


VERBS = {
    "serve": Verb("serving", "[PORT]", "Serve Engram's HTTP interface, and MCP at /mcp."),
    "mcp": Verb(
        "serving",
        "[--tools=agent|admin|all|NAMES] [--project=NAME]",
        "Serve the mem_* tools over MCP, on standard input and output.",
    ),
    "search": Verb("memory", "WORDS [--type T] [--project P] [--scope S] [--limit N]", "Find memories."),
    "save": Verb("memory", "TITLE CONTENT [--type T] [--project P] [--scope S] [--topic KEY]", "Keep a memory."),
    "timeline": Verb("memory", "ID [--before N] [--after N]", "Show what was kept before and after a memory."),
    "context": Verb("memory", "[PROJECT] [--scope S]", "Show what went on lately."),
    "stats": Verb("memory", "", "Count what is kept, and say where."),
    "export": Verb("exchange", "[FILE]", "Write everything to a JSON file, engram-export.json if none is named."),
    "import": Verb("exchange", "FILE", "Read such a file."),
    "sync": Verb(
        "exchange",
        "[--all] [--project P] | --import | --status",
        "Write what is new to .engram/ in this folder for git to carry, or read what others wrote.",
    ),
    "projects": Verb(
        "projects",
        "[list | consolidate [--all] | prune] [--dry-run]",
        "List projects, merge those that are called alike, remove those without memories.",
    ),
    "obsidian-export": Verb(
        "vault",
        "--vault FOLDER [--project P] [--limit N] [--since DATE] [--force]"
        " [--graph-config preserve|force|skip] [--watch [--interval 10m]]",
        "Write the memories as notes for Obsidian.",
    ),
    "setup": Verb("setting_up", "[AGENT]", "Set up an agent."),
    "version": Verb("", "", "Print the version."),
}
_SAME_AS = {"--version": "version", "-v": "version", "--help": "help", "-h": "help"}


def run(arguments: Sequence[str]) -> NoReturn:
    """Do what the arguments say, and exit as Engram does."""
    try:
        code = _exit_code(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has gone; what is left of it must not fail at the exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def _exit_code(arguments: Sequence[str]) -> int:
    try:
        _dispatch(arguments)
    except Stop as stop:
        tell(stop.message)
        return stop.code
    except BrokenPipeError:
        raise
    except (AnamnesisError, sqlite3.Error, OSError) as error:
        tell(f"engram: {error}")
        return 1
    return 0


def _dispatch(arguments: Sequence[str]) -> None:
    if not arguments:
        say(usage())
        raise Stop("")
    name, rest = _SAME_AS.get(arguments[0], arguments[0]), list(arguments[1:])
    if name == "help":
        say(usage())
    elif name == "version":
        say(f"engram {VERSION}\n")
    elif name in VERBS:
        _function(name)(rest)
    else:
        say(usage())
        raise Stop(f"unknown command: {name}\n")


def _function(name: str) -> Callable[[list[str]], None]:
    module = importlib.import_module(f"anamnesis.verbs.{VERBS[name].module}")
    function: Callable[[list[str]], None] = getattr(module, f"run_{name.replace('-', '_')}")
    return function


def usage() -> str:
    """What there is to do."""
    lines = [f"  {f'{name} {verb.takes}'.strip()}\n      {verb.does}" for name, verb in VERBS.items()]
    return "\n".join(
        [
            f"engram {VERSION}, as Anamnesis speaks it: one memory for every coding agent",
            "",
            "Usage: engram <command> [arguments]",
            "",
            *lines,
            "",
            "ENGRAM_DATA_DIR is the folder of engram.db (else ~/.engram if there is one, else ANAMNESIS_HOME),",
            "ENGRAM_PORT the port of serve (else 7437), ENGRAM_PROJECT the project of mcp (else this folder's).",
            "",
        ]
    )
