"""Importers of other programs' memories. Each module is imported on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from anamnesis.errors import InvalidArgument

if TYPE_CHECKING:
    from anamnesis.importers.pipeline import Importer

_MODULES = {
    "claude": "claude_memory",
    "claude-mem": "claude_mem",
    "basic-memory": "basic_memory",
    "markdown": "markdown",
    "mcp-memory": "mcp_memory",
    "rules": "rules",
    "codex": "codex",
    "gemini": "gemini",
    "cursor": "cursor",
    "cline": "cline",
    "mem0": "mem0",
    "openmemory": "openmemory",
    "portable-ai-memory": "portable",
    "jsonl": "jsonl",
    "chatgpt": "chatgpt",
    "claude-ai": "claude_ai",
}
NAMES = tuple(_MODULES)


def importer_named(name: str) -> Importer:
    if name not in _MODULES:
        raise InvalidArgument(f"{name!r} is not a source that can be imported.", f"There are: {', '.join(NAMES)}.")
    found: Importer = import_module(f"anamnesis.importers.{_MODULES[name]}").IMPORTER
    return found
