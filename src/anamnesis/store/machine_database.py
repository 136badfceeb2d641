"""A small database of this machine that is not derived from the notes: a damaged file is renamed, never deleted."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from anamnesis.disk import FileIdentity, file_identity
from anamnesis.errors import StoreUnavailable, Unwritable
from anamnesis.readonly import is_refused, is_writable, read_only_uri

DAMAGED = ".damaged"
_BUSY_SECONDS = 5.0

T = TypeVar("T")
C = TypeVar("C", bound=sqlite3.Connection)


class MachineDatabase:
    """The database file, for any number of threads; other processes may use it too. The first change creates it.

    `schema` is the SQL of version `version`; a version after the first only adds tables, so its SQL has IF NOT EXISTS.
    `holds` names the content of the file in messages.
    """

    schema: Path
    version = 1
    holds = "The records"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._identity: FileIdentity | None = None

    def erase(self) -> bool:
        """Erase what removed rows left in the file; False if another program prevented it."""
        from anamnesis.erasure import erase_deleted  # only a purge needs it

        if not self.path.exists():
            return True
        with self._lock:
            return erase_deleted(self._opened())

    def close(self) -> None:
        with self._lock:
            self._close()

    def change(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run a transaction; an unusable file is renamed, and a new one is created."""
        try:
            with self._lock:
                try:
                    return transact(self._opened(), work)
                except sqlite3.DatabaseError as error:
                    if not self._is_unusable(error):
                        raise
                    self._move_aside()
                    return transact(self._opened(), work)
        except (sqlite3.Error, OSError) as error:
            kind = Unwritable if is_refused(error) else StoreUnavailable
            raise kind(f"{self.holds} in {self.path} cannot be used now: {error}.") from error

    def read(self, query: Callable[[sqlite3.Connection], T]) -> T | None:
        """Run a query; None if the file is missing or unreadable."""
        if not self.path.exists():
            return None
        try:
            if is_writable(self.path.parent):
                try:
                    with self._lock:
                        return query(self._opened())
                except sqlite3.OperationalError as error:
                    if not is_refused(error):  # a quota or a limit appears only when SQLite maps its shared memory
                        raise
            with contextlib.closing(sqlite3.connect(read_only_uri(self.path), uri=True)) as db:
                return query(db)
        except sqlite3.DatabaseError:
            return None

    def _close(self) -> None:
        if self._db and self._identity and self._identity[0] == os.getpid():
            self._db.close()  # one of a parent process is left alone: closing it would disturb its locks
        self._db = self._identity = None

    def _opened(self) -> sqlite3.Connection:
        """The connection to the file that is there now."""
        if self._db is None or self._identity != file_identity(self.path):
            self._close()
            self.path.touch(mode=0o600)  # SQLite would let other users read it
            self._identity = file_identity(self.path)
            self._db = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            self._prepare(self._db)
        return self._db

    def _prepare(self, db: sqlite3.Connection) -> None:
        db.execute("PRAGMA synchronous = NORMAL")
        if schema_version(db) < self.version:
            db.execute("PRAGMA journal_mode = WAL")
            transact(db, self._create)

    def _create(self, db: sqlite3.Connection) -> None:
        if schema_version(db) < self.version:  # another process may have been faster
            for statement in self.schema.read_text("utf-8").split(";\n"):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {self.version:d}")

    def _is_unusable(self, error: sqlite3.DatabaseError) -> bool:
        """Whether the file is damaged, not such a database, or not accessible although its folder is writable."""
        if not isinstance(error, sqlite3.OperationalError) or "no such" in str(error):
            return True
        return is_refused(error) and is_writable(self.path.parent) and not os.access(self.path, os.R_OK | os.W_OK)

    def _move_aside(self) -> None:
        self._close()
        for suffix in ("-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        os.replace(self.path, self.path.with_name(self.path.name + DAMAGED))


def schema_version(db: sqlite3.Connection) -> int:
    (version,) = db.execute("PRAGMA user_version").fetchone()
    return int(version)


def _begin_to_write(db: sqlite3.Connection) -> None:
    db.execute("BEGIN IMMEDIATE")


def transact(db: C, work: Callable[[C], T], begin: Callable[[C], None] = _begin_to_write) -> T:
    """Run `work` as one transaction."""
    begin(db)
    try:
        result = work(db)
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    return result
