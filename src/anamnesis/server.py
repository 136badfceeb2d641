"""The MCP server of a store."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from anamnesis import __version__
from anamnesis.config import Settings, resolve_settings
from anamnesis.mcp import memory
from anamnesis.mcp.dispatcher import Offered, Server
from anamnesis.store import MemoryStore

if TYPE_CHECKING:
    from anamnesis.mcp.engram.tool import Memory


def build_server(
    store: MemoryStore,
    *,
    machine_id: str | None = None,
    engram: Memory | None = None,
    settings: Settings | None = None,
) -> Server:
    """A server whose tools work on `store` and write notes as `machine_id`, by default this machine.

    With `engram`, it has Engram's tools too. Without `settings`, those of this process are read.
    """
    settings = settings or resolve_settings()
    if machine_id:
        settings = replace(settings, machine_id=machine_id)
    tools: list[Offered] = [*memory.tools(store, settings)]
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
