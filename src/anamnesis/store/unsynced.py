"""The files that changed since the last sync, so that a sync compares these and not the whole tree.

Triggers record every change of an indexed file. A folder that another program has changed is recorded as well, because
it may hold changed files that are not in the index.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from anamnesis.store.store import MemoryStore

_TREE = "memory/"


class Unsynced(NamedTuple):
    """What a sync has to compare."""

    numbers: Mapping[str, int]  # by recorded path, relative to the store's root
    is_complete: bool  # whether nothing else changed, except for edits in place that are not indexed yet

    @property
    def paths(self) -> frozenset[str] | None:
        """The changed files, relative to the portable tree; None if the whole tree has to be compared."""
        return frozenset(path.removeprefix(_TREE) for path in self.numbers) if self.is_complete else None


def find_unsynced(store: MemoryStore) -> Unsynced:
    """What changed since the last sync. The first call starts the recording."""
    store._catalogue.refresh_folders(again=True)
    is_complete = not store._index.is_outdated()
    numbers = store._index.read(_numbers)
    if numbers is None:
        store._index.write(_start)
        return Unsynced({}, is_complete=False)
    return Unsynced(numbers, is_complete and not any(path.endswith("/") for path in numbers))


def count_unsynced(store: MemoryStore) -> int | None:
    """How many changed files the index knows of that no sync has processed; None before the first sync."""
    numbers = store._index.read(_numbers)
    return None if numbers is None else sum(not path.endswith("/") for path in numbers)


def forget_unsynced(store: MemoryStore, found: Unsynced, written: Mapping[str, bytes | None]) -> None:
    """Remove the records that a sync has processed: those it `found`, unless changed since, and those of files it has
    `written` (by path in the portable tree; None for a removed one), unless the index has another hash of them."""
    if found.numbers or written:
        store._index.write(partial(_forget, found.numbers.values(), written))


def record_listed(db: sqlite3.Connection, folder: str) -> None:
    """Record a folder that was listed because its mtime had changed."""
    if f"{folder}/".startswith(_TREE) and _is_recording(db):
        db.execute("INSERT OR REPLACE INTO unsynced (path) VALUES (:path)", {"path": f"{folder}/"})


def _is_recording(db: sqlite3.Connection) -> bool:
    return db.execute("SELECT 1 FROM sqlite_master WHERE name = 'unsynced'").fetchone() is not None


def _start(db: sqlite3.Connection) -> None:
    if not _is_recording(db):
        for statement in Path(__file__).with_name("unsynced.sql").read_text("utf-8").split("\n\n")[1:]:
            db.execute(statement)


def _numbers(db: sqlite3.Connection) -> dict[str, int] | None:
    """The recorded paths; None in an index that was rebuilt since, or never synced."""
    return dict(db.execute("SELECT path, number FROM unsynced").fetchall()) if _is_recording(db) else None


def _forget(numbers: Collection[int], written: Mapping[str, bytes | None], db: sqlite3.Connection) -> None:
    if not _is_recording(db):
        return
    db.executemany("DELETE FROM unsynced WHERE number = ?", [(number,) for number in numbers])
    for path, hash in written.items():
        folder, _, name = f"{_TREE}{path}".rpartition("/")
        db.execute(
            "DELETE FROM unsynced WHERE path = :folder || '/' || :name AND :hash IS (SELECT hash FROM files"
            " WHERE folder = (SELECT number FROM folders WHERE path = :folder) AND name = :name)",
            {"folder": folder, "name": name, "hash": hash},
        )
