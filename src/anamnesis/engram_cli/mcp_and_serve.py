"""The verbs that agents and their plugins start: mcp on standard input and output, serve on a port.

What only one of them uses is imported in it: a plugin that starts `serve` asks for it half a second later.
"""

from __future__ import annotations

import functools
import os
import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from anamnesis.engram.gotext import whole
from anamnesis.engram_cli.console import read, tell

if TYPE_CHECKING:
    from anamnesis.store import MemoryStore

Uses = Callable[[], AbstractContextManager[sqlite3.Connection]]


def run_mcp(arguments: list[str]) -> None:
    from anamnesis.config import resolve_engram_strict, resolve_home
    from anamnesis.engram_cli import open_engram
    from anamnesis.log import log
    from anamnesis.mcp.engram import build_server
    from anamnesis.mcp.engram.tool import Memory
    from anamnesis.mcp.stdio import serve

    given = read(arguments, "--tools --project", equals=True)
    project = given.text("--project") or os.environ.get("ENGRAM_PROJECT", "")
    with open_engram.connected(check_same_thread=False) as db, ExitStack() as opened:
        use = functools.cache(lambda: _uses(db, opened))
        default_project = functools.cache(lambda: _default_project(project))
        memory = Memory(lambda: use()(), default_project, strict=resolve_engram_strict())
        server = build_server(memory, given.text("--tools"))
        # One call at a time: they share a connection, and what is saved first is there for what is asked next.
        serve(server, lambda trace: log(resolve_home(), "engram mcp error", trace=trace), at_once=1)


def _uses(db: sqlite3.Connection, opened: ExitStack) -> Uses:
    """How a tool uses engram.db. Opens the notes: who asks only for the list of tools does not wait for them."""
    from anamnesis.bridge import around, open_memory

    store = opened.enter_context(open_memory())
    opened.callback(_erase, store)
    return functools.partial(around, store, db)


def _erase(store: MemoryStore) -> None:
    """At the end of a session, remove from the databases what they keep of memories that it deleted for good."""
    from anamnesis.bridge import FAILURES
    from anamnesis.bridge.purging import erase
    from anamnesis.engram_cli import open_engram
    from anamnesis.log import log

    try:
        erase(store, open_engram.path())
    except FAILURES as error:
        log(store.root, "cannot erase purged notes", reason=str(error))


def _default_project(name: str) -> str:
    from anamnesis.engram import projects
    from anamnesis.engram.detection import detect  # starts git, which nobody waits for until a project is asked for

    return projects.normalise(name or detect(Path.cwd()))


def run_serve(arguments: list[str]) -> None:
    from anamnesis import daemon

    numbers = (whole(text) for text in (*arguments[:1], os.environ.get("ENGRAM_PORT", "")))
    port = next((number for number in numbers if number is not None), daemon.DEFAULT_PORT)
    daemon.run(port, announce=lambda url: tell(f"[engram] HTTP server listening on {url}"))
