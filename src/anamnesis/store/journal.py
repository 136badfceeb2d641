"""The journal of changed notes: filled by triggers, whoever enters a change, until its consumer has dealt with it.

Not part of the index until somebody asks for it. A rebuild loses it; then every note counts as changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from anamnesis.store.index import Connection


def is_kept(db: Connection, consumer: str | None = None) -> bool:
    """Whether there is a journal, for a consumer. (A question to a missing table would pass for damage.)"""
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'journal'").fetchone():
        return False
    return consumer is None or db.execute("SELECT consumer FROM journal").fetchone() == (consumer,)


def keep(db: Connection, consumer: str) -> bool:
    """From now on note down the changes for a consumer; for a new one, every note is a change."""
    if is_kept(db, consumer):
        return False
    if not is_kept(db):
        statements = Path(__file__).with_name("journal.sql").read_text("utf-8").split("\n\n")
        for statement in statements[1:]:
            db.execute(statement)
    db.execute("DELETE FROM journal")
    db.execute("INSERT INTO journal (consumer) VALUES (:consumer)", {"consumer": consumer})
    db.execute("INSERT OR IGNORE INTO changed_notes SELECT id FROM memories")
    return True


def changed(db: Connection, limit: int | None) -> dict[str, bytes | None]:
    """The notes in the journal, with the hash of the file that stands for each; None if there is no such file.

    By their ids, the last first: of those that we made, the newest.
    """
    if not is_kept(db):
        return {}
    return _states(db, "SELECT memory_id AS id FROM changed_notes", {"limit": -1 if limit is None else limit})


def settle(db: Connection, agreed: Mapping[str, bytes | None]) -> None:
    """Take out the notes whose state is the one given; what changed meanwhile stays."""
    if is_kept(db):
        now = _states(db, "SELECT value AS id FROM json_each(:ids)", {"ids": json.dumps(list(agreed)), "limit": -1})
        forget(db, [memory_id for memory_id in now if now[memory_id] == agreed[memory_id]])


def forget(db: Connection, ids: Iterable[str]) -> None:
    """Take out notes, whatever their state."""
    if is_kept(db):
        db.executemany("DELETE FROM changed_notes WHERE memory_id = ?", [(memory_id,) for memory_id in ids])


def _states(db: Connection, ids: str, values: dict[str, str | int]) -> dict[str, bytes | None]:
    """The hash of the file that stands for each note, but for those of which a file has still to be read."""
    rows = db.execute(
        f"SELECT id, (SELECT hash FROM standing_files WHERE memory_id = asked.id) FROM ({ids}) AS asked"
        " WHERE NOT EXISTS (SELECT 1 FROM files WHERE memory_id = asked.id AND hash = x'')"
        " ORDER BY id DESC LIMIT :limit",
        values,
    )
    return dict(rows.fetchall())
