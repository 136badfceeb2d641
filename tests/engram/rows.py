"""Rows for the tests, and what is in a file, byte for byte."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from anamnesis.engram.observations import NewObservation, SavedObservation, add

TABLES = (
    "sessions", "observations", "user_prompts", "sync_chunks", "sync_state", "sync_mutations", "sync_enrolled_projects",
)  # fmt: skip


def save(
    db: sqlite3.Connection, title: str = "t", content: str = "c", session: str = "s1", **fields: str
) -> SavedObservation:
    """An observation, of the project `engram` unless another is given."""
    return add(db, NewObservation(session, title, content, **{"project": "engram", **fields}))


def age(db: sqlite3.Connection, id: int, created_at: str) -> None:
    """Let an observation be of another time."""
    db.execute(
        "UPDATE observations SET created_at = :at, updated_at = :at WHERE id = :id", {"id": id, "at": created_at}
    )


def columns(db: sqlite3.Connection, table: str) -> list[str]:
    return [name for (name,) in db.execute("SELECT name FROM pragma_table_info(:table)", {"table": table})]


def contents(path: Path, wanted: dict[str, list[str]] | None = None) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table, as types and bytes; of the wanted columns, or of all."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        found = {}
        for table in TABLES:
            names = wanted[table] if wanted else columns(db, table)
            cells = ", ".join(f"typeof({name}), CAST({name} AS BLOB)" for name in names)
            found[table] = db.execute(f"SELECT rowid, {cells} FROM {table} ORDER BY rowid").fetchall()
        return found


def assert_sound(db: sqlite3.Connection) -> None:
    """The file is whole, every reference leads somewhere, and words and counts are those of the rows."""
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    live = "SELECT session_id, count(*), max(created_at) FROM observations WHERE deleted_at IS NULL GROUP BY session_id"
    assert set(db.execute("SELECT * FROM anamnesis_sessions WHERE newest IS NOT NULL")) == set(db.execute(live))
    assert db.execute("SELECT count(*) FROM anamnesis_sessions WHERE newest IS NULL AND observations").fetchone() == (
        0,
    )
    for index in ("observations_fts", "prompts_fts"):
        db.execute(f"INSERT INTO {index}({index}, rank) VALUES ('integrity-check', 1)")
