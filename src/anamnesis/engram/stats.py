"""How much there is."""

from __future__ import annotations

import sqlite3

from anamnesis.engram.record import Stats


def stats(db: sqlite3.Connection) -> Stats:
    """The numbers of sessions, live observations and prompts, and the projects, the most recently active first."""
    # Counting all rows and the few deleted ones is several times faster than counting the others one by one.
    sessions, observations, prompts = db.execute(
        "SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM observations)"
        " - (SELECT count(*) FROM observations WHERE deleted_at IS NOT NULL), (SELECT count(*) FROM user_prompts)"
    ).fetchone()
    return Stats(sessions, observations, prompts, tuple(name for (name,) in db.execute(_PROJECTS)))


# From one name to the next by the index: as many steps as there are projects, not as there are observations.
_PROJECTS = """
    WITH RECURSIVE names(name) AS (
        SELECT (SELECT project FROM observations INDEXED BY anamnesis_obs_project
            WHERE deleted_at IS NULL AND project >= '' ORDER BY project LIMIT 1)
        UNION ALL
        SELECT (SELECT project FROM observations INDEXED BY anamnesis_obs_project
            WHERE deleted_at IS NULL AND project > name ORDER BY project LIMIT 1)
        FROM names WHERE name IS NOT NULL
    )
    SELECT name FROM names WHERE name IS NOT NULL ORDER BY (
        SELECT max(created_at) FROM observations INDEXED BY anamnesis_obs_project
        WHERE deleted_at IS NULL AND project = name
    ) DESC, name
"""
