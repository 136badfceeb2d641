"""The timeline of the memory, the newest first: notes, sessions and prompts; and the notes that sessions received."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from anamnesis.engram import prompts, sessions
from anamnesis.engram.projects import short_name
from anamnesis.engram.record import Prompt, SessionSummary
from anamnesis.notes import Memory
from anamnesis.notes.foreign import with_origins
from anamnesis.store import MemoryStore


class TimelineEvent(NamedTuple):
    """A created note, a started session, or a prompt, according to `kind`."""

    at: str
    kind: str
    what: Memory | SessionSummary | Prompt


class TimelinePage(NamedTuple):
    """The events of a page, the newest first, and whether there are older ones."""

    events: list[TimelineEvent]
    has_older: bool


def newest_events(
    store: MemoryStore, engram: sqlite3.Connection | None, project: str, *, most: int
) -> list[TimelineEvent]:
    """The newest notes, and the sessions and prompts of Engram, of a project or of all, in one order."""
    return page_of(store, engram, project, most=most, page=1).events


def page_of(
    store: MemoryStore, engram: sqlite3.Connection | None, project: str, *, most: int, page: int
) -> TimelinePage:
    """A page of the timeline. All pages together have every event.

    If one kind of events does not fit, all events older than its last one are on the next page, even if there is room
    for more of the other kinds.
    """
    found, oldest = _newest(store, engram, project, most * page)
    _, newest = _newest(store, engram, project, most * (page - 1)) if page > 1 else ([], "")
    shown = [each for each in found if each.at >= oldest and (not newest or each.at < newest)]
    return TimelinePage(sorted(shown, key=lambda each: each.at, reverse=True), bool(oldest))


def _newest(
    store: MemoryStore, engram: sqlite3.Connection | None, project: str, most: int
) -> tuple[list[TimelineEvent], str]:
    """The newest events of each kind, and the time from which on they are complete; "" if there are no older ones."""
    notes = store.list(project=project or None, limit=most * 2, order="created")
    notes = with_origins(notes, store.origins(notes))
    kinds = [([TimelineEvent(note.created_at, "note", note) for note in notes], most * 2)]
    if engram:
        names = dict.fromkeys((project, short_name(project)))  # clients of Engram use either
        started = {each.id: each for name in names for each in sessions.recent(engram, name, most)}
        asked = {each.id: each for name in names for each in prompts.recent(engram, name, most)}
        kinds.append(([TimelineEvent(utc(each.started_at), "session", each) for each in started.values()], most))
        kinds.append(([TimelineEvent(utc(each.created_at), "prompt", each) for each in asked.values()], most))
    oldest = max((min(each.at for each in found) for found, limit in kinds if len(found) >= limit), default="")
    return [each for found, _ in kinds for each in found], oldest


def utc(moment: str) -> str:
    """A time of Engram in the form that notes have."""
    return f"{moment.replace(' ', 'T')}+00:00" if len(moment) == len("2026-01-01 00:00:00") else moment


def recently_received(store: MemoryStore, most: int) -> list[dict[str, Any]]:
    """The notes that sessions received last, by injection or recall, with the titles of those that still exist."""
    store.usage.take_in()
    events = store.usage.latest(("injected", "recalled"), most)
    named = names_of(store, [note_id for note_id, _ in events])
    return [
        {
            "at": datetime.fromtimestamp(event.at, UTC).isoformat(),
            "kind": event.kind,
            "session": event.session,
            "id": note_id,
            **named[note_id],
        }
        for note_id, event in events
    ]


def names_of(store: MemoryStore, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The titles of these notes, "" if there is none any more, and the origins of foreign ones."""
    wanted = [*ids]
    titles, origins = store.ranking.headings(wanted), store.origins(store.whole(wanted))
    return {
        id: {"title": titles.get(id, {}).get("title", ""), **(origins[id].shown() if id in origins else {})}
        for id in wanted
    }
