"""Sessions: start, end, list with the number of observations, and delete if empty."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from anamnesis.engram import projects
from anamnesis.engram.database import NotFound, Refused, writing
from anamnesis.engram.record import Session, SessionSummary
from anamnesis.engram.strings import valid
from anamnesis.engram.sync_queue import SessionPayload, enqueue_session

DEFAULT_RECENT = 5
COLUMNS = "id, project, directory, started_at, ended_at, summary"


class SessionInUse(Refused):
    """A session with observations cannot be deleted."""


@dataclass(frozen=True, slots=True)
class Place:
    """The folder in which a client runs, and what is known of the projects of folders.

    `key_of` gives the full key of a folder's project, and `is_one_of_several` says that another key has the same name.
    """

    folder: str
    key_of: Callable[[str], str]
    is_one_of_several: Callable[[str], bool]


def default_session(project: str) -> str:
    """The session of rows that are saved outside any session."""
    return f"manual-save-{project}" if project else "manual-save"


def create(db: sqlite3.Connection, id: str, project: str, directory: str = "") -> None:
    """Start a session; an existing one only gets the project or directory that it lacks."""
    payload = SessionPayload(valid(id), projects.normalise(project), valid(directory))
    with writing(db):
        db.execute(
            "INSERT INTO sessions (id, project, directory) VALUES (:id, :project, :directory)"
            " ON CONFLICT(id) DO UPDATE SET"
            " project = CASE WHEN project = '' THEN excluded.project ELSE project END,"
            " directory = CASE WHEN directory = '' THEN excluded.directory ELSE directory END",
            {"id": payload.id, "project": payload.project, "directory": payload.directory},
        )
        enqueue_session(db, payload)


def begin(db: sqlite3.Connection, project: str, given: str = "", place: Place | None = None) -> str:
    """Start the session of a row that is saved, unless it exists: the `given` one, or the default one.

    The session of a project's folder has the folder, by which the project is known where several have its name; each
    of these has its own default session.
    """
    id = given or default_session(project)
    key = place.key_of(place.folder) if place else ""
    if not place or projects.short_name(key) != projects.normalise(project):
        create(db, id, project)
        return id
    if not given and "/" in key and (_is_elsewhere(db, id, key, place) or place.is_one_of_several(key)):
        id = default_session(key)
    create(db, id, project, place.folder)
    return id


def _is_elsewhere(db: sqlite3.Connection, id: str, key: str, place: Place) -> bool:
    """Whether a session has the folder of another project than this key's."""
    known = get(db, id)
    return known is not None and known.directory not in ("", place.folder) and place.key_of(known.directory) != key


def end(db: sqlite3.Connection, id: str, summary: str = "") -> bool:
    """End a session; False if there is none. An empty summary keeps the old one, which Engram would erase."""
    return _change(db, id, summary, "ended_at = datetime('now')")


def summarise(db: sqlite3.Connection, id: str, summary: str) -> bool:
    """Give a session its summary, without ending it; False if there is none."""
    return _change(db, id, summary, "ended_at = ended_at")


def _change(db: sqlite3.Connection, id: str, summary: str, end: str) -> bool:
    with writing(db):
        db.execute(
            f"UPDATE sessions SET {end}, summary = coalesce(nullif(:summary, ''), summary) WHERE id = :id",
            {"id": valid(id), "summary": valid(summary)},
        )
        found = get(db, id)
        if not found:
            return False
        enqueue_session(db, SessionPayload(found.id, found.project, found.directory, found.ended_at, found.summary))
    return True


def get(db: sqlite3.Connection, id: str) -> Session | None:
    row = db.execute(f"SELECT {COLUMNS} FROM sessions WHERE id = :id", {"id": valid(id)}).fetchone()
    return Session(*row) if row else None


def recent(db: sqlite3.Connection, project: str = "", limit: int = 0) -> list[SessionSummary]:
    """The sessions with the newest live observations; one without any counts by its start."""
    name = projects.meant(db, project)
    rows = db.execute(
        "SELECT id, project, started_at, ended_at, summary, ifnull(observations, 0)"
        " FROM sessions LEFT JOIN anamnesis_sessions ON session_id = id"
        f" WHERE {'project = :project' if name else f'id IN ({_CANDIDATES})'}"
        " ORDER BY ifnull(newest, started_at) DESC, id LIMIT :limit",
        {"project": name, "limit": limit if limit > 0 else DEFAULT_RECENT},
    )
    return [SessionSummary(*row) for row in rows]


def delete(db: sqlite3.Connection, id: str) -> None:
    """Delete a session and its prompts, unless it has observations, even deleted ones."""
    with writing(db):
        if not get(db, id):
            raise NotFound(f'session not found: "{id}"')
        values = {"id": valid(id)}
        (count,) = db.execute("SELECT count(*) FROM observations WHERE session_id = :id", values).fetchone()
        if count:
            raise SessionInUse(f'session still has observations: session "{id}" has {count} observation(s)')
        db.execute("DELETE FROM user_prompts WHERE session_id = :id", values)
        db.execute("DELETE FROM sessions WHERE id = :id", values)


# The sessions with the newest observations, and of those without any the ones started after the last of them.
# The time does not depend on the number of sessions.
_OBSERVED = "FROM anamnesis_sessions WHERE newest IS NOT NULL ORDER BY newest DESC, session_id"
_CANDIDATES = f"""
    SELECT session_id FROM (SELECT session_id {_OBSERVED} LIMIT :limit)
    UNION ALL
    SELECT id FROM (
        SELECT id FROM sessions
        WHERE started_at >= ifnull((SELECT newest {_OBSERVED} LIMIT 1 OFFSET :limit - 1), '')
            AND NOT EXISTS (SELECT 1 FROM anamnesis_sessions WHERE session_id = sessions.id AND newest IS NOT NULL)
        ORDER BY started_at DESC, id LIMIT :limit
    )
"""
