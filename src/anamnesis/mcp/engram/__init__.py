"""Engram's fifteen `mem_*` tools: their names, arguments, texts and errors are those of the Go program."""

from __future__ import annotations

from anamnesis.engram import VERSION
from anamnesis.mcp.dispatcher import Server
from anamnesis.mcp.engram.declared import TOOLS
from anamnesis.mcp.engram.tool import BoundTool, Memory

INSTRUCTIONS = (
    "Memory that outlives this session and its compactions.\n\n"
    "At hand at all times: mem_context tells what went on lately (call it when a session starts and after a"
    " compaction), mem_search finds earlier work, mem_get_observation reads one result in full, mem_save keeps"
    " something for later, mem_save_prompt keeps what the user asked, mem_session_summary closes a session.\n\n"
    "Loaded when searched for: mem_update, mem_suggest_topic_key, mem_session_start, mem_session_end, mem_stats,"
    " mem_delete, mem_timeline, mem_capture_passive, mem_merge_projects.\n\n"
    "Save without being asked: call mem_save as soon as something is decided, fixed, found out or agreed on, and"
    " mem_session_summary before you say that the work is done."
)
_ALL = {tool.name: tool for tool in TOOLS}
_ADMIN = frozenset(("mem_delete", "mem_stats", "mem_timeline", "mem_merge_projects"))
PROFILES = {"agent": frozenset(_ALL) - _ADMIN, "admin": _ADMIN}


def tools(memory: Memory, wanted: str = "") -> list[BoundTool]:
    """The wanted tools, sorted by name: a comma-separated list of profiles and tool names; all if it is empty."""
    names = _resolved(wanted)
    return [BoundTool(tool, memory) for name, tool in sorted(_ALL.items()) if names is None or name in names]


def _resolved(wanted: str) -> set[str] | None:
    """The names of the wanted tools, unchecked; None for all."""
    tokens = [token for each in wanted.split(",") if (token := each.strip())]
    if not tokens or "all" in tokens:
        return None
    return {name for token in tokens for name in PROFILES.get(token, (token,))}


def build_server(memory: Memory, wanted: str = "") -> Server:
    """The server of `engram mcp`."""
    return Server(name="engram", version=VERSION, instructions=INSTRUCTIONS, tools=tools(memory, wanted))
