"""The functions of Reverie's tools: those of Engram under Reverie's names, and what dreams do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anamnesis.engram import context
from anamnesis.engram import text as texts
from anamnesis.engram.strings import shorten
from anamnesis.mcp.engram.reading import found
from anamnesis.mcp.engram.tool import Arguments, Memory, Structured, Unusable
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
_NONE_YET = "No dream has run yet. The daemon dreams when nobody works; `anamnesis dream` does it now."


def search_memory(memory: Memory, given: Arguments) -> str:
    """What mem_search finds, with more of each memory: here, no other tool reads one in full."""
    notice, results = found(memory, given)
    if not results:
        return texts.found(given.as_sent("query"), results, is_tool=True)
    return notice + "\n\n".join(shorten(texts.whole(each), _LONGEST) for each in results)


def smart_context(memory: Memory, given: Arguments) -> str:
    with memory.database() as db:
        return context.smart_context(db, memory.project(given), given.number("limit")) or texts.NOTHING_YET


def dream_status(memory: Memory, _: Arguments) -> Structured:
    from anamnesis.dream.dream_journal import status

    facts = status(_notes(memory))
    last = facts["last"]
    lines = [
        f"Last dream: {last['id']} at {last['at']}, {last['state']}." if last else _NONE_YET,
        f"Changed since: {counted(facts['changed_notes'], 'note')}.",
        f"Proposals: {facts['waiting']} wait for the next dream, {facts['review']} for the user (`anamnesis review`).",
    ]
    return Structured("\n".join(lines), facts)


def dream_last_report(memory: Memory, _: Arguments) -> str:
    from anamnesis.dream.dream_journal import last_dream, report

    store = _notes(memory)
    change = last_dream(store)
    return report(store, change) if change else _NONE_YET


def _notes(memory: Memory) -> MemoryStore:
    if memory.notes is None:
        raise Unusable("This server has no notes, so that nothing is known about dreams")
    return memory.notes()
