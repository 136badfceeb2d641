"""Counts of everything."""

from __future__ import annotations

import sqlite3

from anamnesis.engram import projects
from anamnesis.engram.record import Stats


def stats(db: sqlite3.Connection) -> Stats:
    """The numbers of sessions, live observations and prompts, and the projects, the most recently active first."""
    # Counting all rows and the few deleted ones is several times faster than counting the live ones.
    sessions, observations, prompts = db.execute(
        "SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM observations)"
        " - (SELECT count(*) FROM observations WHERE deleted_at IS NOT NULL), (SELECT count(*) FROM user_prompts)"
    ).fetchone()
    return Stats(sessions, observations, prompts, tuple(name for (name,) in db.execute(_PROJECTS)))


_PROJECTS = f"""
    {projects.WITH_NAMES}
    SELECT name FROM names WHERE name IS NOT NULL ORDER BY (
        SELECT max(created_at) FROM observations INDEXED BY anamnesis_obs_project
        WHERE deleted_at IS NULL AND project = name
    ) DESC, name DESC
"""
