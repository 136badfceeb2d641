"""The observations before and after one, in its session."""

from __future__ import annotations

import sqlite3

from anamnesis.engram import observations, sessions
from anamnesis.engram.database import NotFound
from anamnesis.engram.record import Timeline, TimelineEntry
from anamnesis.engram.strings import valid

DEFAULT_WINDOW = 5
_COLUMNS = (
    "id, session_id, type, CAST(title AS TEXT), CAST(content AS TEXT), tool_name, project, scope, topic_key,"
    " revision_count, duplicate_count, last_seen_at, created_at, updated_at, deleted_at"
)


def timeline(db: sqlite3.Connection, observation_id: int, before: int = 0, after: int = 0) -> Timeline:
    """An observation with its neighbours, in the order in which they were saved."""
    focus = observations.get(db, observation_id)
    if not focus:
        raise NotFound(f"timeline: observation #{observation_id} not found: sql: no rows in result set")
    session = valid(focus.session_id)
    (total,) = db.execute(
        "SELECT ifnull(sum(observations), 0) FROM anamnesis_sessions WHERE session_id = :session", {"session": session}
    ).fetchone()
    return Timeline(
        focus=focus,
        before=_neighbours(db, session, "id < :id ORDER BY id DESC", focus.id, before)[::-1],
        after=_neighbours(db, session, "id > :id ORDER BY id", focus.id, after),
        session_info=sessions.get(db, session),
        total_in_range=total,
    )


def _neighbours(
    db: sqlite3.Connection, session: str, nearest_first: str, id: int, limit: int
) -> tuple[TimelineEntry, ...]:
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM observations INDEXED BY idx_obs_session"
        f" WHERE session_id = :session AND deleted_at IS NULL AND {nearest_first} LIMIT :limit",
        {"session": session, "id": id, "limit": limit if limit > 0 else DEFAULT_WINDOW},
    )
    return tuple(TimelineEntry(*(*row, False)) for row in rows)
