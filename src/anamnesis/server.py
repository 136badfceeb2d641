"""The MCP server of a store."""

from __future__ import annotations

from anamnesis import __version__
from anamnesis.config import resolve_machine_id
from anamnesis.mcp import memory
from anamnesis.mcp.dispatcher import Server
from anamnesis.store import MemoryStore


def build_server(store: MemoryStore, *, machine_id: str | None = None) -> Server:
    """A server whose tools work on `store` and write notes as `machine_id`, by default this machine."""
    return Server(
        name="anamnesis",
        version=__version__,
        instructions=memory.INSTRUCTIONS,
        tools=memory.tools(store, machine_id or resolve_machine_id()),
        prompts=memory.prompts(),
        resources=memory.resources(store),
    )
