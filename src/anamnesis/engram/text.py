"""The texts that Engram's tools and commands print about memories, word for word. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from anamnesis.engram.gotext import quote
from anamnesis.engram.record import Observation, SearchResult, Timeline, TimelineEntry
from anamnesis.engram.strings import byte_length, shorten

NOTHING_YET = "No previous session memories found."
_PREVIEW = 300
_FOOTER = (
    f"---\nResults above are previews ({_PREVIEW} chars). To read the full content of a specific memory,"
    " call mem_get_observation(id: <ID>).\n"
)


def found(query: str, results: Sequence[SearchResult], *, is_tool: bool) -> str:
    """The results of a search. For a tool, truncated previews are marked."""
    if not results:
        return f"No memories found for: {quote(query)}" + ("" if is_tool else "\n")
    parts = [f"Found {len(results)} memories:\n\n"]
    is_cut = False
    for number, result in enumerate(results, 1):
        preview = shorten(result.content, _PREVIEW)
        # Engram compares bytes here and characters there, so an uncut text may be marked as a preview.
        if is_tool and byte_length(result.content) > _PREVIEW:
            is_cut = True
            preview += " [preview]"
        project = "" if result.project is None else f" | project: {result.project}"
        parts.append(
            f"[{number}] #{result.id} ({result.type}) — {result.title}\n    {preview}\n"
            f"    {result.created_at}{project} | scope: {result.scope}\n\n"
        )
    return "".join(parts) + (_FOOTER if is_cut else "")


def around(timeline: Timeline) -> str:
    """An observation with those before and after it."""
    focus, session = timeline.focus, timeline.session_info
    parts = []
    if session:
        summary = "" if session.summary is None else f" — {shorten(session.summary, 100)}"
        parts.append(f"Session: {session.project} ({session.started_at}){summary}\n")
        parts.append(f"Total observations in session: {timeline.total_in_range}\n\n")
    if timeline.before:
        parts.append("─── Before ───\n" + _rows(timeline.before) + "\n")
    parts.append(f">>> #{focus.id} [{focus.type}] {focus.title} <<<\n")
    parts.append(f"    {shorten(focus.content, 500)}\n    {focus.created_at}\n\n")
    if timeline.after:
        parts.append("─── After ───\n" + _rows(timeline.after))
    return "".join(parts)


def _rows(entries: Sequence[TimelineEntry]) -> str:
    return "".join(f"  #{entry.id} [{entry.type}] {entry.title} — {shorten(entry.content, 150)}\n" for entry in entries)


def whole(observation: Observation) -> str:
    """Everything about one observation."""
    optional = {
        "Project": observation.project,
        "Scope": observation.scope,
        "Topic": observation.topic_key,
        "Tool": observation.tool_name,
    }
    lines = [
        f"#{observation.id} [{observation.type}] {observation.title}",
        observation.content,
        f"Session: {observation.session_id}",
        *(f"{name}: {value}" for name, value in optional.items() if value is not None),
        f"Duplicates: {observation.duplicate_count}",
        f"Revisions: {observation.revision_count}",
        f"Created: {observation.created_at}",
    ]
    return "\n".join(lines)
