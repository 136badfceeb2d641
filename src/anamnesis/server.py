"""The MCP server of a store. `anamnesis serve` imports only what the list of tools needs: agents wait for it."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

from anamnesis import __version__
from anamnesis.config import resolve_home, resolve_machine_id
from anamnesis.mcp import memory
from anamnesis.mcp.dispatcher import Offered, Server

if TYPE_CHECKING:
    from anamnesis.mcp.engram.tool import Memory
    from anamnesis.store import MemoryStore


def build_server(store: MemoryStore, *, machine_id: str | None = None, engram: Memory | None = None) -> Server:
    """A server whose tools work on `store` and write notes as `machine_id`, by default this machine.

    With `engram`, it has Engram's tools too.
    """
    return _built(lambda: store, machine_id or resolve_machine_id(), engram)


def run() -> None:
    """Serve on standard input and output until the input ends. The first call of a tool opens the store."""
    from anamnesis.mcp.stdio import serve

    with ExitStack() as opened:
        serve(_built(_opened_once(opened), resolve_machine_id()), _report)


def _built(store: memory.Opened, machine_id: str, engram: Memory | None = None) -> Server:
    tools: list[Offered] = [*memory.tools(store, machine_id)]
    instructions = memory.INSTRUCTIONS
    if engram:
        from anamnesis.mcp import engram as dialect  # 15 ms that an agent without Engram need not wait for

        tools += dialect.tools(engram)
        instructions += f"\n\nThe mem_* tools are those of Engram. {dialect.INSTRUCTIONS}"
    return Server(
        name="anamnesis",
        version=__version__,
        instructions=instructions,
        tools=tools,
        prompts=memory.prompts(),
        resources=memory.resources(store),
    )


def _opened_once(opened: ExitStack) -> memory.Opened:
    """Opens the store at the first call, also where several threads call at once, and closes it with the stack."""
    opening = threading.Lock()
    stores: list[MemoryStore] = []

    def store() -> MemoryStore:
        with opening:
            if not stores:
                from anamnesis.bridge import open_memory  # 40 ms that the list of tools need not wait for

                stores.append(opened.enter_context(open_memory()))
            return stores[0]

    return store


def _report(trace: str) -> None:
    from anamnesis.log import log

    log(resolve_home(), "mcp error", trace=trace)
