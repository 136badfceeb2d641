"""Builds a new index from the files, beside the live one, whose content it then replaces in one transaction."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path

from anamnesis.store.files import NoteFiles
from anamnesis.store.index import SCHEMA_VERSION, Connection, T, connect
from anamnesis.store.refresh import IndexDifference, Progress, refresh


def rebuild(path: Path, files: NoteFiles, progress: Progress | None, *, in_place: bool) -> None:
    """Rebuild the index at `path`; unless `in_place`, an unusable file is removed first."""
    beside = path.with_name(f"{path.name}.new")
    beside.unlink(missing_ok=True)
    try:
        with contextlib.closing(connect(beside, create=True)) as db:
            bring_up = partial(refresh, partial(_apply, db), partial(_apply, db), files)
            _build(db, partial(bring_up, progress=progress))
            if not in_place:
                discard(path)
            _copy(db, path, bring_up)
    finally:
        beside.unlink(missing_ok=True)


def discard(path: Path) -> None:
    """Remove an unusable index. Processes that have it open notice that the file was replaced, and reopen it."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def create_tables(db: Connection) -> str:
    """Create the tables of a new index; returns the SQL for what is cheaper to create once they are filled."""
    tables, _, rest = Path(__file__).with_name("schema.sql").read_text("utf-8").partition("\n-- Indexes")
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION:d}")
    db.executescript(tables)
    return rest.partition("\n")[2]


def _build(db: Connection, bring_up: Callable[[], IndexDifference]) -> None:
    db.execute("PRAGMA journal_mode = OFF")
    db.execute("PRAGMA synchronous = OFF")
    db.execute("PRAGMA cache_size = -200000")
    create_indexes = create_tables(db)
    db.execute("BEGIN")
    bring_up()
    db.execute("COMMIT")
    db.executescript(create_indexes)


def _copy(new: Connection, path: Path, bring_up: Callable[[], IndexDifference]) -> None:
    """Copy the new index over the live one in one transaction, so that no reader sees half of it."""
    caught_up = False

    def catch_up(status: int, *_: int) -> None:
        # From the first copied page on, no other process can write: a refresh at this point indexes everything
        # that changed while the new index was being built.
        nonlocal caught_up
        if status == sqlite3.SQLITE_OK and not caught_up:
            caught_up = True
            bring_up()

    (pages,) = new.execute("PRAGMA page_count").fetchone()
    with contextlib.closing(connect(path, create=True)) as live:
        live.execute("PRAGMA journal_mode = WAL")
        new.backup(live, pages=pages // 2, progress=catch_up)  # at least two steps: `catch_up` runs between


def _apply(db: Connection, query: Callable[[Connection], T]) -> T:
    return query(db)
