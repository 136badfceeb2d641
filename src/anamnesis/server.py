"""The MCP server of a store. `anamnesis serve` imports only what the list of tools needs, as agents wait for it."""

from __future__ import annotations

import threading
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from anamnesis import __version__
from anamnesis.config import Settings, resolve_settings
from anamnesis.mcp import memory
from anamnesis.mcp.dispatcher import McpServer, ServerTool
from anamnesis.mcp.memory import search_memories
from anamnesis.process import exit_on_signals

if TYPE_CHECKING:
    from anamnesis.mcp.engram.tool import EngramMemory
    from anamnesis.store import MemoryStore
    from anamnesis.vault import Vault


__all__ = ["build_server", "run", "search_memories"]


def build_server(
    store: MemoryStore,
    *,
    machine_id: str | None = None,
    engram: EngramMemory | None = None,
    settings: Settings | None = None,
) -> McpServer:
    """A server whose tools work on `store` and write notes as `machine_id`, by default this machine.

    With `engram`, it has Engram's tools too. Without `settings`, they are read from the environment and config.json.
    """
    settings = settings or resolve_settings()
    if machine_id:
        settings = settings._replace(machine_id=machine_id)
    return _build(lambda: store, settings, engram)


def run() -> None:
    """Serve on standard input and output until the input ends; the first call that needs the store opens it.

    Internal errors are logged.
    """
    from anamnesis.mcp.stdio import serve

    exit_on_signals()
    settings = resolve_settings()
    if refused := settings.refused:
        from anamnesis.log import warn  # that a valid config.json does not need

        for sentence in refused:
            warn(sentence)
    with ExitStack() as opened:
        serve(_build(_open_once(settings, opened), settings), partial(_report, settings.home))


def _build(store: memory.OpenStore, settings: Settings, engram: EngramMemory | None = None) -> McpServer:
    tools: list[ServerTool] = [*memory.tools(store, settings)]
    instructions = memory.INSTRUCTIONS
    if engram:
        from anamnesis.mcp import engram as dialect  # takes 15 ms, which agents without Engram do not need

        tools += dialect.tools(engram)
        instructions += f"\n\nThe mem_* tools are those of Engram. {dialect.INSTRUCTIONS}"
    return McpServer(
        name="anamnesis",
        version=__version__,
        instructions=instructions,
        tools=tools,
        prompts=memory.prompts(store),
        resources=memory.resources(store),
    )


def _open_once(settings: Settings, opened: ExitStack) -> memory.OpenStore:
    """A function that opens the vault at its first call, once for all threads; the stack closes it."""
    opening = threading.Lock()
    vaults: list[Vault] = []

    def store() -> MemoryStore:
        with opening:
            if not vaults:
                vaults.append(opened.enter_context(_open(settings)))
                from anamnesis.embedder import Embedder

                opened.callback(lambda: vaults[0].notes.usage.take_in())
                opened.enter_context(closing(Embedder(vaults[0].notes)))
            return vaults[0].notes

    return store


def _open(settings: Settings) -> Vault:
    from anamnesis.vault import open_vault  # takes 40 ms, which the list of tools does not need

    vault = open_vault(settings, pending=True)
    vault.notes.on_refresh = None  # reads do not reconcile; a write reconciles what is pending
    return vault


def _report(home: Path, trace: str) -> None:
    from anamnesis.log import log

    log(home, "mcp error", trace=trace)
