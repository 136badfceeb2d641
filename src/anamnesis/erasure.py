"""What SQLite keeps of deleted rows, and how it is removed from a database file. Knows no table."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator


@contextlib.contextmanager
def overwriting(db: sqlite3.Connection) -> Iterator[None]:
    """Rows that are deleted in here are overwritten with zeros. An ordinary change need not pay for that."""
    (before,) = db.execute("PRAGMA secure_delete").fetchone()
    db.execute("PRAGMA secure_delete = ON").fetchone()
    try:
        yield
    finally:
        db.execute(f"PRAGMA secure_delete = {before:d}").fetchone()


def erase_deleted(db: sqlite3.Connection) -> bool:
    """Leave nothing of deleted rows in the file and its log; False if a reader or a writer was in the way.

    A word index keeps the words of deleted rows until its segments are merged. (The option `secure-delete` of FTS5
    would not, but an index that has used it cannot be read by SQLite before 3.42.) Free pages hold what was deleted or
    replaced before, and `VACUUM` alone drops all of them. The cost is that of writing the whole file once.
    """
    try:
        indexes = db.execute("SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE % USING fts5%'")
        for (name,) in indexes.fetchall():
            db.execute(f"INSERT INTO {name}({name}) VALUES ('optimize')")
        db.execute("VACUUM")
        busy, *_ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.OperationalError:  # locked for longer than we wait, or no room for the copy
        return False
    return not busy
