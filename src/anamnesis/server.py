"""The MCP server of a store."""

from __future__ import annotations

from anamnesis import __version__
from anamnesis.mcp import memory
from anamnesis.mcp.dispatcher import Server
from anamnesis.store import MemoryStore


def build_server(store: MemoryStore, machine_id: str = "unknown") -> Server:
    """A server whose tools work on `store` and write notes as `machine_id`."""
    return Server(
        name="anamnesis",
        version=__version__,
        instructions=memory.INSTRUCTIONS,
        tools=memory.tools(store, machine_id),
        prompts=memory.prompts(),
        resources=memory.resources(store),
    )
