"""What happened in the memory, the newest first: notes, sessions and prompts, and what sessions were told."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from typing import Any, NamedTuple

from anamnesis.engram import prompts, sessions
from anamnesis.engram.projects import short_name
from anamnesis.engram.record import Prompt, SessionSummary
from anamnesis.notes import Memory
from anamnesis.store import MemoryStore


class Happening(NamedTuple):
    """A note that was created, a session that was started, or a prompt; `kind` names which."""

    at: str
    kind: str
    what: Memory | SessionSummary | Prompt


class Page(NamedTuple):
    """What happened in a part of the time, the newest first, and whether there is something older."""

    happened: list[Happening]
    has_older: bool


def happenings(store: MemoryStore, engram: sqlite3.Connection | None, project: str, *, most: int) -> list[Happening]:
    """The newest notes, and the sessions and prompts of Engram, of a project or of all, in one order."""
    return page_of(store, engram, project, most=most, page=1).happened


def page_of(store: MemoryStore, engram: sqlite3.Connection | None, project: str, *, most: int, page: int) -> Page:
    """A page of what happened; together, pages leave nothing out.

    Where there are more notes than fit, for instance, what is older than the last of them is on the next page, even if
    there is room for more prompts.
    """
    found, oldest = _newest(store, engram, project, most * page)
    _, newest = _newest(store, engram, project, most * (page - 1)) if page > 1 else ([], "")
    shown = [each for each in found if each.at >= oldest and (not newest or each.at < newest)]
    return Page(sorted(shown, key=lambda each: each.at, reverse=True), bool(oldest))


def _newest(
    store: MemoryStore, engram: sqlite3.Connection | None, project: str, most: int
) -> tuple[list[Happening], str]:
    """The newest of each kind, and the time since which they are all there are; "" if nothing is older."""
    notes = store.list(project=project or None, limit=most * 2, order="created")
    kinds = [([Happening(note.created_at, "note", note) for note in notes], most * 2)]
    if engram:
        names = dict.fromkeys((project, short_name(project)))  # clients of Engram give one or the other
        started = {each.id: each for name in names for each in sessions.recent(engram, name, most)}
        asked = {each.id: each for name in names for each in prompts.recent(engram, name, most)}
        kinds.append(([Happening(utc(each.started_at), "session", each) for each in started.values()], most))
        kinds.append(([Happening(utc(each.created_at), "prompt", each) for each in asked.values()], most))
    oldest = max((min(each.at for each in found) for found, limit in kinds if len(found) >= limit), default="")
    return [each for found, _ in kinds for each in found], oldest


def utc(moment: str) -> str:
    """A time of Engram in the form that notes have."""
    return f"{moment.replace(' ', 'T')}+00:00" if len(moment) == len("2026-01-01 00:00:00") else moment


def told_lately(store: MemoryStore, most: int) -> list[dict[str, Any]]:
    """What was injected and recalled last, with the titles of the notes that are still there."""
    store.usage.take_in()
    events = store.usage.latest(("injected", "recalled"), most)
    titles = store.ranking.headings([note_id for note_id, _ in events])
    return [
        {
            "at": datetime.fromtimestamp(event.at, UTC).isoformat(),
            "kind": event.kind,
            "session": event.session,
            "id": note_id,
            "title": titles.get(note_id, {}).get("title", ""),
        }
        for note_id, event in events
    ]
