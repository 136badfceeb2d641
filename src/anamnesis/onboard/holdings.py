"""Counts the content of an engram.db without creating files beside it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from anamnesis.errors import StoreUnavailable


@dataclass(frozen=True, slots=True)
class Holdings:
    """Counts of an engram.db, without deleted observations; `with_notes` counts observations that have a note."""

    observations: int
    sessions: int
    projects: int
    with_notes: int


def count(database: Path) -> Holdings:
    """Count observations, sessions and projects."""
    # Opening a database in WAL mode creates files beside it, unless `immutable`. Without a WAL, nobody has it open.
    has_log = database.with_name(f"{database.name}-wal").exists()
    uri = f"{database.absolute().as_uri()}?mode=ro{'' if has_log else '&immutable=1'}"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as db:
            (has_twins,) = db.execute(
                "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'anamnesis_twins')"
            ).fetchone()
            with_note = "SELECT observation_id FROM anamnesis_twins WHERE note_hash IS NOT NULL" if has_twins else ""
            row = db.execute(
                "SELECT count(*), (SELECT count(*) FROM sessions), count(DISTINCT nullif(project, '')),"
                f" count(*) FILTER (WHERE id IN ({with_note})) FROM observations WHERE deleted_at IS NULL"
            ).fetchone()
    except sqlite3.Error as error:
        raise StoreUnavailable(f"{database} cannot be read: {error}.", "Stop what uses it and try again.") from error
    return Holdings(*row)
