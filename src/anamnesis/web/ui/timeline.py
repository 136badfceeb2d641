"""The timeline: sessions, prompts and notes in order of time, of all projects, of one, or of one session."""

from __future__ import annotations

import sqlite3
from dataclasses import asdict
from datetime import UTC, datetime

from anamnesis import timeline
from anamnesis.engram import prompts, sessions
from anamnesis.engram.record import Prompt
from anamnesis.notes import Memory
from anamnesis.notes.foreign import with_origins
from anamnesis.store import MemoryStore
from anamnesis.store.projects import one_each
from anamnesis.store.recording import session_hash
from anamnesis.store.sessions import known_sessions, named, notes_of
from anamnesis.timeline import TimelineEvent, utc
from anamnesis.web.ui.notes import page_of
from anamnesis.web.ui.view import Data, PageRequest, Site, View, summary

_MOST_SESSIONS = 30
_MOST_TOLD = 100
# Each page also reads all pages before it.
_MOST_PAGES = 100


def _read(site: Site, request: PageRequest) -> Data:
    """The entries, the newest first."""
    project, session = request.query.get("project", ""), request.query.get("session", "")
    store = site.vault.notes
    db = site.lanes.connection() if site.lanes.has_engram else None
    page, has_older = min(page_of(request), _MOST_PAGES), False
    if session:
        session = _named(store, db, session)
        happened = _of_session(store, db, session)
    else:
        found, has_older = timeline.page_of(store, db, project, most=_MOST_SESSIONS, page=page)
        happened = [_as_dict(each) for each in found]
    happened.sort(key=lambda each: each["at"], reverse=True)
    return {
        "project": project,
        "session": session,
        "happened": happened,
        "page": page,
        "next": page + 1 if has_older and page < _MOST_PAGES else None,
        "projects": one_each(store.projects()),
    }


def _named(store: MemoryStore, db: sqlite3.Connection | None, given: str) -> str:
    recent = [each.id for each in sessions.recent(db, limit=_MOST_SESSIONS * 10)] if db else []
    return named([*recent, *known_sessions(store)], given)


def _of_session(store: MemoryStore, db: sqlite3.Connection | None, session: str) -> list[Data]:
    """The notes that a session wrote, its prompts, and the notes that it used."""
    notes = notes_of(store, session)
    notes = with_origins(notes, store.origins(notes))
    found = [*map(_note, notes), *_uses(store, {session, session_hash(session)})]
    if db is None:
        return found
    about = sessions.get(db, session)
    started = [{"at": utc(about.started_at), "kind": "session", **asdict(about)}] if about else []
    return [*found, *started, *map(_prompt, prompts.of_session(db, session))]


def _uses(store: MemoryStore, names: set[str]) -> list[Data]:
    store.usage.take_in()
    events = [event for name in names for event in store.usage.of_session(name)][:_MOST_TOLD]
    named = timeline.names_of(store, [note_id for note_id, _ in events])
    return [
        {
            "at": datetime.fromtimestamp(event.at, UTC).isoformat(),
            "kind": "used",
            "how": event.kind,
            "id": note_id,
            **named[note_id],
        }
        for note_id, event in events
    ]


def turn(db: sqlite3.Connection, note: Memory) -> Data | None:
    """The last prompt of a note's session before the note, and its number; None if none is known."""
    until = note.created_at[: len("2026-01-01T00:00:00")].replace("T", " ")
    earlier = prompts.of_session(db, note.prov_session, until) if note.prov_session else []
    return (
        {"number": len(earlier), "at": utc(earlier[-1].created_at), "prompt": earlier[-1].content} if earlier else None
    )


def _as_dict(each: TimelineEvent) -> Data:
    what = summary(each.what) if isinstance(each.what, Memory) else asdict(each.what)
    return {"at": each.at, "kind": each.kind, **what}


def _note(note: Memory) -> Data:
    return _as_dict(TimelineEvent(note.created_at, "note", note))


def _prompt(prompt: Prompt) -> Data:
    return _as_dict(TimelineEvent(utc(prompt.created_at), "prompt", prompt))


VIEWS = (View("/timeline", "timeline.html", _read),)
