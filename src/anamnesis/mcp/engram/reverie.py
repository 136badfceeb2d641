"""The functions of Reverie's tools: those of Engram under Reverie's names, and the reports on dreams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anamnesis.engram import context
from anamnesis.engram import text as texts
from anamnesis.engram.strings import shorten
from anamnesis.mcp.engram.reading import find
from anamnesis.mcp.engram.tool import Arguments, EngramMemory, Structured, Unusable
from anamnesis.mcp.engram.writing import mem_capture_passive as add_observation_passive
from anamnesis.mcp.engram.writing import mem_save as add_observation
from anamnesis.plural import counted

if TYPE_CHECKING:
    from anamnesis.store import MemoryStore

__all__ = [
    "add_observation",
    "add_observation_passive",
    "dream_last_report",
    "dream_status",
    "search_memory",
    "smart_context",
]

_LONGEST = 2_000
_NONE_YET = "No dream has run yet. The daemon dreams when it is idle; `anamnesis dream` starts one now."


def search_memory(memory: EngramMemory, given: Arguments) -> str:
    """The results of mem_search, with more of each memory, as no other tool of Reverie reads one in full."""
    notice, results = find(memory, given)
    if not results:
        return texts.found(given.as_sent("query"), results, is_tool=True)
    return notice + "\n\n".join(shorten(texts.whole(each), _LONGEST) for each in results)


def smart_context(memory: EngramMemory, given: Arguments) -> str:
    with memory.database() as db:
        project, limit = memory.project(given), given.number("limit")
        return context.smart_context(db, project, limit, memory.shown) or texts.NOTHING_YET


def dream_status(memory: EngramMemory, _: Arguments) -> Structured:
    from anamnesis.dream.dream_journal import status

    facts = status(_notes(memory))
    last = facts["last"]
    lines = [
        f"Last dream: {last['id']} at {last['at']}, {last['state']}." if last else _NONE_YET,
        f"Changed since: {counted(facts['changed_notes'], 'note')}.",
        f"Proposals: {facts['waiting']} wait for the next dream, {facts['review']} for the user (`anamnesis review`).",
    ]
    return Structured("\n".join(lines), facts)


def dream_last_report(memory: EngramMemory, _: Arguments) -> str:
    from anamnesis.dream.dream_journal import last_dream, report

    store = _notes(memory)
    change = last_dream(store)
    return report(store, change) if change else _NONE_YET


def _notes(memory: EngramMemory) -> MemoryStore:
    if memory.notes is None:
        raise Unusable("This server has no notes, so nothing is known about dreams")
    return memory.notes()
