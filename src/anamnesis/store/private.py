"""The index for reads on a read-only disk: index.db as it is, or a copy in memory once that is stale."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from anamnesis.readonly import read_only_uri
from anamnesis.store.files import NoteFiles
from anamnesis.store.index import SCHEMA_VERSION, Connection, FindIdle, transact
from anamnesis.store.rebuilding import create_tables
from anamnesis.store.refresh import outdated, refresh

T = TypeVar("T")
C = TypeVar("C", Connection, None)


class PrivateIndex:
    """One connection, for one thread at a time. Nothing that is written to it reaches the disk."""

    def __init__(self, path: Path, files: NoteFiles, find_idle: FindIdle) -> None:
        self._path = path
        self._find_idle = find_idle
        self._files = files
        self._lock = threading.RLock()
        self._db: Connection | None = None
        self._in_memory = self._is_built = False

    def close(self) -> None:
        with self._lock:
            self._use(None)

    def read(self, query: Callable[[Connection], T]) -> T:
        """Run `query` on the index; a damaged or missing one is built in memory first."""
        with self._lock:
            return self._transact(self._db or self._open(), query)

    def write(self, change: Callable[[Connection], T]) -> T:
        """Run `change` on a copy of the index in memory."""
        with self._lock:
            return self._transact(self._db if self._db and self._in_memory else self._copy(), change)

    def refresh_folders(self) -> None:
        """Index what changed in folders with a new mtime."""
        with self._lock:
            changed = self.read(lambda db: outdated(db, self._files))
            if changed is not None:
                refresh(self.read, self.write, self._files, only=changed)

    def _transact(self, db: Connection, work: Callable[[Connection], T]) -> T:
        try:
            return transact(db, work, find_idle=self._find_idle)
        except sqlite3.Error:
            if self._is_built:
                raise
        return transact(self._build(), work, find_idle=self._find_idle)

    def _open(self) -> Connection:
        """index.db itself, if it is an index of this version that can be read without writing."""
        with contextlib.suppress(sqlite3.Error):
            db = _connect(read_only_uri(self._path))
            try:
                (version,) = db.execute("PRAGMA user_version").fetchone()
            except sqlite3.Error:
                version = None
            if version == SCHEMA_VERSION:
                return self._use(db)
            db.close()
        return self._build()

    def _build(self) -> Connection:
        db = self._use(_connect("file::memory:"), in_memory=True, is_built=True)
        create_indexes = create_tables(db)
        refresh(self.read, self.write, self._files)
        db.executescript(create_indexes)
        return db

    def _copy(self) -> Connection:
        self.close()  # another process may have written the file since it was opened
        source = self._open()
        if self._in_memory:
            return source
        db = _connect("file::memory:")
        try:
            source.backup(db)
        except sqlite3.Error:
            db.close()
            return self._build()
        return self._use(db, in_memory=True)

    def _use(self, db: C, *, in_memory: bool = False, is_built: bool = False) -> C:
        if self._db:
            self._db.close()
        self._db, self._in_memory, self._is_built = db, in_memory, is_built
        return db


def _connect(uri: str) -> Connection:
    db = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, factory=Connection)
    db.execute("PRAGMA temp_store = MEMORY")  # temporary files may be on the same disk
    return db
