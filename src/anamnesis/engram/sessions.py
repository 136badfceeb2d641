"""Sessions: begun, ended, listed with the number of their observations, and removed when they hold none."""

from __future__ import annotations

import sqlite3
from typing import Any

from anamnesis.engram import projects
from anamnesis.engram.database import NotFound, Refused, writing
from anamnesis.engram.record import Session, SessionSummary
from anamnesis.engram.strings import valid
from anamnesis.engram.sync_queue import SessionPayload, enqueue_session

DEFAULT_RECENT = 5
COLUMNS = "id, project, directory, started_at, ended_at, summary"


class SessionInUse(Refused):
    """A session that still has observations is not removed."""


def create(db: sqlite3.Connection, id: str, project: str, directory: str = "") -> None:
    """Begin a session; one that is there gets only the project or the directory that it lacks."""
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


def end(db: sqlite3.Connection, id: str, summary: str = "") -> bool:
    """End a session; False if there is none. An empty summary, by which Engram erases an older one, changes nothing."""
    with writing(db):
        db.execute(
            "UPDATE sessions SET ended_at = datetime('now'), summary = coalesce(nullif(:summary, ''), summary)"
            " WHERE id = :id",
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
    name, limit = projects.normalise(project), limit if limit > 0 else DEFAULT_RECENT
    values = {"project": name, "limit": limit}
    if name:
        rows = _most_active(db, "project = :project", values)
    else:
        rows = _most_active(db, f"id IN ({_LIKELY})", values)
        # Whoever is not likely was active before the oldest of the observations that were looked at.
        (since,) = db.execute(f"SELECT min(created_at) FROM ({_NEWEST})").fetchone()
        if len(rows) < limit or rows[-1][-1] <= since:
            rows = _most_active(db, "TRUE", values)
    return [SessionSummary(*row[:-1]) for row in rows]


def delete(db: sqlite3.Connection, id: str) -> None:
    """Remove a session and its prompts, unless it has observations, be they deleted ones."""
    with writing(db):
        if not get(db, id):
            raise NotFound(f'session not found: "{id}"')
        values = {"id": valid(id)}
        (count,) = db.execute("SELECT count(*) FROM observations WHERE session_id = :id", values).fetchone()
        if count:
            raise SessionInUse(f'session still has observations: session "{id}" has {count} observation(s)')
        db.execute("DELETE FROM user_prompts WHERE session_id = :id", values)
        db.execute("DELETE FROM sessions WHERE id = :id", values)


# The sessions of the newest observations, and those that began after them: they usually are the most active ones,
# and asking only them takes as long with ten thousand sessions as with ten.
_NEWEST = (
    "SELECT session_id, created_at FROM observations INDEXED BY anamnesis_obs_recent WHERE deleted_at IS NULL"
    " ORDER BY created_at DESC, id DESC LIMIT 500"
)
_LIKELY = (
    f"SELECT session_id FROM ({_NEWEST}) UNION"
    f" SELECT id FROM sessions WHERE started_at > (SELECT min(created_at) FROM ({_NEWEST}))"
)


def _most_active(db: sqlite3.Connection, condition: str, values: dict[str, object]) -> list[tuple[Any, ...]]:
    """The rows of summaries, the most recently active first, each with when that was."""
    return db.execute(
        "SELECT id, project, started_at, ended_at, summary, ifnull((SELECT observations FROM anamnesis_live"
        " WHERE session_id = newest.id), 0), active_at FROM (SELECT *, coalesce("
        "(SELECT max(created_at) FROM observations WHERE session_id = sessions.id AND deleted_at IS NULL), started_at)"
        f" AS active_at FROM sessions WHERE {condition} ORDER BY active_at DESC, id LIMIT :limit) AS newest"
        " ORDER BY active_at DESC, id",
        values,
    ).fetchall()
