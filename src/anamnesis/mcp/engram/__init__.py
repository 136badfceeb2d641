"""Engram's fifteen `mem_*` tools: their names, arguments, texts and errors are those of the Go program.

Reverie's six tools are listed only if their profile or their names are requested.
"""

from __future__ import annotations

from anamnesis.engram import VERSION
from anamnesis.mcp.dispatcher import McpServer
from anamnesis.mcp.engram.declared import REVERIE, TOOLS
from anamnesis.mcp.engram.tool import BoundTool, EngramMemory

INSTRUCTIONS = (
    "Memory that outlives this session and its compactions.\n\n"
    "Always available: mem_context returns recent sessions and memories (call it when a session starts and after a"
    " compaction), mem_search finds earlier work, mem_get_observation reads one result in full, mem_save saves"
    " something for later, mem_save_prompt saves the user's request, mem_session_summary closes a session.\n\n"
    "Loaded when searched for: mem_update, mem_suggest_topic_key, mem_session_start, mem_session_end, mem_stats,"
    " mem_delete, mem_timeline, mem_capture_passive, mem_merge_projects.\n\n"
    "Save without being asked: call mem_save as soon as something is decided, fixed, discovered or agreed, and"
    " mem_session_summary before you say that the work is done."
)
_REVERIE_INSTRUCTIONS = (
    "Memory that outlives this session and its compactions, and is tidied by dreams in the background.\n\n"
    "smart_context returns what matters in a project (call it when a session starts and after a compaction),"
    " search_memory finds earlier work, dream_status and dream_last_report report on dreams.\n\n"
    "Save without being asked: call add_observation as soon as something is decided, fixed, discovered or agreed, and"
    " add_observation_passive with a text that has a section of learnings."
)
_ALL = {tool.name: tool for tool in TOOLS}
_REVERIE = {tool.name: tool for tool in REVERIE}
_ADMIN = frozenset(("mem_delete", "mem_stats", "mem_timeline", "mem_merge_projects"))
PROFILES = {
    "agent": frozenset(_ALL) - _ADMIN,
    "admin": _ADMIN,
    "all": frozenset(_ALL),
    "reverie": frozenset(_REVERIE),
}


def tools(memory: EngramMemory, wanted: str = "") -> list[BoundTool]:
    """The tools of a comma-separated list of profiles and tool names, sorted by name; Engram's if it is empty."""
    names = _resolved(wanted)
    return [BoundTool(tool, memory) for name, tool in sorted((_ALL | _REVERIE).items()) if name in names]


def _resolved(wanted: str) -> set[str]:
    """The names of the tools in such a list, which may not exist."""
    tokens = [token for each in wanted.split(",") if (token := each.strip())] or ["all"]
    return {name for token in tokens for name in PROFILES.get(token, (token,))}


def build_server(memory: EngramMemory, wanted: str = "") -> McpServer:
    """The server of `engram mcp`."""
    offered = tools(memory, wanted)
    is_reverie = bool(offered) and all(each.tool.is_reverie for each in offered)
    instructions = _REVERIE_INSTRUCTIONS if is_reverie else INSTRUCTIONS
    return McpServer(name="engram", version=VERSION, instructions=instructions, tools=offered)
