"""Removes the traces of deleted rows from a SQLite file. Knows no table."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator


@contextlib.contextmanager
def overwriting(db: sqlite3.Connection) -> Iterator[None]:
    """Overwrite rows that are deleted in this context with zeros; other changes do not pay for that."""
    (before,) = db.execute("PRAGMA secure_delete").fetchone()
    db.execute("PRAGMA secure_delete = ON").fetchone()
    try:
        yield
    finally:
        db.execute(f"PRAGMA secure_delete = {before:d}").fetchone()


def erase_deleted(db: sqlite3.Connection) -> bool:
    """Remove all traces of deleted rows from the file and its WAL; False if another connection prevented it.

    A word index keeps the words of deleted rows until its segments are merged. (FTS5's option `secure-delete` would
    not, but SQLite before 3.42 cannot read an index that has used it.) Free pages hold deleted or replaced rows, and
    only `VACUUM` drops all of them. This writes the whole file once.
    """
    try:
        indexes = db.execute("SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE % USING fts5%'")
        for (name,) in indexes.fetchall():
            db.execute(f"INSERT INTO {name}({name}) VALUES ('optimize')")
        db.execute("VACUUM")
        busy, *_ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.OperationalError:  # locked beyond the timeout, or no space for the copy
        return False
    return not busy
