"""The verbs that agents and their plugins start: mcp on standard input and output, serve on a port.

Imports are inside the functions: a plugin that starts `serve` connects half a second later.
"""

from __future__ import annotations

import functools
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

from anamnesis.engram.gotext import whole
from anamnesis.engram_cli.console import parse, print_err

if TYPE_CHECKING:
    from anamnesis.config import Settings
    from anamnesis.store.strength import Kind
    from anamnesis.vault import Vault


def run_mcp(arguments: list[str], settings: Settings) -> None:
    from anamnesis.engram_cli import open_engram
    from anamnesis.log import log
    from anamnesis.mcp.engram import build_server
    from anamnesis.mcp.engram.tool import EngramMemory
    from anamnesis.mcp.stdio import serve

    given = parse(arguments, "--tools --project", equals=True)
    project = given.text("--project") or settings.engram_project
    with open_engram.connected(settings.engram_db(), check_same_thread=False) as db, ExitStack() as opened:
        open_once = functools.cache(lambda: _open(opened, settings))
        default_project = functools.cache(lambda: _default_project(project, settings.home))
        memory = EngramMemory(
            lambda: open_once().around(db),
            default_project,
            strict=settings.engram_strict,
            recall=lambda *asked: open_once().recall(*asked),
            notes=lambda: open_once().notes,
            used=lambda kind, ids: _record(open_once(), kind, [*ids]),
            marked=lambda db, rows, *, unasked=False: open_once().marked(db, rows, unasked=unasked),
            place=functools.cache(lambda: open_engram.place(settings, open_once().notes)),
        )
        server = build_server(memory, given.text("--tools"))
        # One call at a time: calls share a connection, and a call must see what the previous one saved.
        serve(server, lambda trace: log(settings.home, "engram mcp error", trace=trace), at_once=1)


def _open(opened: ExitStack, settings: Settings) -> Vault:
    """Open the notes, at the first call of a tool, so that `tools/list` does not wait for them."""
    from anamnesis.embedder import Embedder
    from anamnesis.vault import open_vault

    vault = opened.enter_context(open_vault(settings))
    opened.enter_context(closing(Embedder(vault.notes)))
    opened.callback(vault.try_to_erase, settings.engram_db())
    return vault


def _record(vault: Vault, kind: Kind, ids: list[int]) -> None:
    """Record a use of observations by this session of an agent."""
    from anamnesis.mcp.session import current
    from anamnesis.store.recording import record

    record(vault.notes.root, kind, vault.note_ids(ids), current())


def _default_project(name: str, home: Path) -> str:
    from anamnesis.engram import projects
    from anamnesis.engram.detection import detect  # starts git, so only when a tool needs a project

    return projects.normalise(name or detect(Path.cwd(), home))


def run_serve(arguments: list[str], settings: Settings) -> None:
    from anamnesis import daemon

    numbers = (whole(text) for text in (*arguments[:1], settings.engram_port))
    port = next((number for number in numbers if number is not None), daemon.DEFAULT_PORT)
    daemon.run(settings, port, announce=lambda url: print_err(f"[engram] HTTP server listening on {url}"))
