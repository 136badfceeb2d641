"""Engram's own command line: its verbs, messages and exit codes, for a program called `engram`.

Arguments are parsed as in the Go program, without click, which takes longer to load than most verbs run.
"""

from __future__ import annotations

import importlib
import os
import sqlite3
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from anamnesis.engram import VERSION
from anamnesis.engram_cli.console import Stop, print_err, print_out
from anamnesis.errors import AnamnesisError, explained

if TYPE_CHECKING:
    from anamnesis.config import Settings


class Verb(NamedTuple):
    """A verb: the module of its function `run_NAME`, its arguments, and what it does."""

    module: str
    takes: str
    does: str


VERBS = {
    "serve": Verb("mcp_and_serve", "[PORT]", "Serve Engram's HTTP interface, and MCP at /mcp."),
    "mcp": Verb(
        "mcp_and_serve",
        "[--tools=agent|admin|all|NAMES] [--project=NAME]",
        "Serve the mem_* tools over MCP, on standard input and output.",
    ),
    "search": Verb("search_and_save", "WORDS [--type T] [--project P] [--scope S] [--limit N]", "Find memories."),
    "save": Verb(
        "search_and_save",
        "TITLE CONTENT [--type T] [--project P] [--scope S] [--topic KEY]",
        "Save a memory; with the CONTENT `-`, that of standard input.",
    ),
    "timeline": Verb("search_and_save", "ID [--before N] [--after N]", "Show the memories before and after a memory."),
    "context": Verb("search_and_save", "[PROJECT] [--scope S]", "Show recent sessions and memories."),
    "stats": Verb("search_and_save", "", "Count the memories, and show where they are."),
    "export": Verb(
        "export_import_sync", "[FILE]", "Write everything to a JSON file, engram-export.json if none is named."
    ),
    "import": Verb("export_import_sync", "FILE", "Read an exported JSON file."),
    "sync": Verb(
        "export_import_sync",
        "[--all] [--project P] | --import | --status",
        "Write new memories to .engram/ in this folder, to be shared by git, or read those of others.",
    ),
    "projects": Verb(
        "manage_projects",
        "[list | consolidate [--all] | prune] [--dry-run]",
        "List projects, merge those with similar names, remove those without memories.",
    ),
    "obsidian-export": Verb(
        "obsidian_export",
        "--vault FOLDER [--project P] [--limit N] [--since DATE] [--force]"
        " [--graph-config preserve|force|skip] [--watch [--interval 10m]]",
        "Write the memories as notes for Obsidian.",
    ),
    "tui": Verb("tui", "", "Search, read and edit the memory in a full-screen application."),
    "setup": Verb("setup", "[AGENT]", "Set up an agent."),
    "version": Verb("", "", "Print the version."),
}
_ALIASES = {"--version": "version", "-v": "version", "--help": "help", "-h": "help"}


def run(arguments: Sequence[str]) -> NoReturn:
    """Run the verb, and exit as Engram does."""
    try:
        code = _exit_code(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output has gone; flushing the rest must not fail at the exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def _exit_code(arguments: Sequence[str]) -> int:
    try:
        _dispatch(arguments)
    except Stop as stop:
        print_err(stop.message)
        return stop.code
    except BrokenPipeError:
        raise
    except (AnamnesisError, sqlite3.Error, OSError) as error:
        print_err(f"engram: {explained(error) if isinstance(error, OSError) else error}")
        return 1
    return 0


def _dispatch(arguments: Sequence[str]) -> None:
    if not arguments:
        print_out(usage())
        raise Stop("")
    name, rest = _ALIASES.get(arguments[0], arguments[0]), list(arguments[1:])
    if name == "help":
        print_out(usage())
    elif name == "version":
        print_out(f"engram {VERSION}\n")
    elif name in VERBS:
        from anamnesis.config import resolve_settings  # which `version` and `help` do not need
        from anamnesis.log import warn

        settings = resolve_settings()
        if name == "serve":
            settings.demand_config()
        elif settings.fault:
            warn(settings.refused[0], "engram")
        _function(name)(rest, settings)
    else:
        print_out(usage())
        raise Stop(f"unknown command: {name}\n")


def _function(name: str) -> Callable[[list[str], Settings], None]:
    module = importlib.import_module(f"anamnesis.engram_cli.{VERBS[name].module}")
    function: Callable[[list[str], Settings], None] = getattr(module, f"run_{name.replace('-', '_')}")
    return function


def usage() -> str:
    """The help text."""
    lines = [f"  {f'{name} {verb.takes}'.strip()}\n      {verb.does}" for name, verb in VERBS.items()]
    return "\n".join(
        [
            f"engram {VERSION}, as implemented by Anamnesis: one memory for every coding agent",
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
