"""vectors.db as a SQLite file: its connection, its tables, and its replacement if it is unusable. Imports no numpy.

It is derived, so a damaged file is deleted. Each new file has a new identity, which makes the follower that fills it
start again.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from anamnesis.disk import FileIdentity, file_identity
from anamnesis.errors import StoreUnavailable
from anamnesis.log import log
from anamnesis.meaning import VERSION
from anamnesis.readonly import SHORT_READ, is_refused, is_writable, read_only_uri

# Of a longer note, only the beginning is embedded: 28,000 words.
MOST_PASSAGES = 256
# The longest that a search which embeds notes waits for other writers; notes that it could not save stay pending.
_BUSY_SECONDS = 1.0
_CORRUPT, _NOT_A_DATABASE = 11, 26
_SCHEMA = """
DROP TABLE IF EXISTS texts;
DROP TABLE IF EXISTS files;
DROP TABLE IF EXISTS words;
CREATE TABLE texts (number INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, passages BLOB NOT NULL);
CREATE TABLE files (hash BLOB PRIMARY KEY, text INTEGER NOT NULL) WITHOUT ROWID;
-- The passages of texts that have several. A row is MOST_PASSAGES times the text's number, plus the passage's place
CREATE VIRTUAL TABLE words USING fts5(passage, tokenize='porter unicode61');
"""


class VectorDatabase:
    """The file, for any number of threads and processes. A damaged file or one of another version is replaced."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._file: FileIdentity | None = None
        self._identity = ""

    def close(self) -> None:
        with self._lock:
            self._close()

    @property
    def identity(self) -> str:
        """Changes with the version and with each new file."""
        with self.used():
            return self._identity

    @contextlib.contextmanager
    def used(self) -> Iterator[sqlite3.Connection]:
        """The connection to the current file, for one thread at a time; a file that proves damaged is deleted."""
        with self._lock:
            if self._db is None or self._file != file_identity(self.path):
                self._open()
            assert self._db  # noqa: S101
            try:
                yield self._db
            except sqlite3.DatabaseError as error:
                if _is_damage(error):
                    self._discard(str(error))
                raise

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The connection in a transaction that is committed at the end."""
        with self.used() as db:
            db.execute("BEGIN IMMEDIATE")
            with db:
                yield db

    def keep_only(self, files: Callable[[], Iterable[bytes]]) -> int:
        """Remove the texts that none of these files holds; returns how many were removed.

        `files` is called inside the transaction, because a file that is embedded later would otherwise lose its text.
        Other threads wait for all of this, so it needs a separate instance.
        """
        from anamnesis.erasure import overwriting

        with self.writing() as db, overwriting(db):
            db.execute("CREATE TEMP TABLE kept (hash BLOB PRIMARY KEY)")
            db.executemany("INSERT OR IGNORE INTO kept VALUES (?)", ((hash,) for hash in files()))
            db.execute("DELETE FROM files WHERE hash NOT IN (SELECT hash FROM kept)")
            db.execute("DROP TABLE kept")
            db.execute(f"DELETE FROM words WHERE rowid / {MOST_PASSAGES} NOT IN (SELECT text FROM files)")
            return db.execute("DELETE FROM texts WHERE number NOT IN (SELECT text FROM files)").rowcount

    def erase(self, files: Callable[[], Iterable[bytes]]) -> bool:
        """Remove the texts of all other files, with their traces; False if another program prevented it."""
        from anamnesis.erasure import erase_deleted

        self.keep_only(files)
        with self.used() as db:
            return erase_deleted(db)

    def damage(self) -> list[str]:
        """What the integrity checks of SQLite find; nothing in a file that does not exist or cannot be written."""
        if not self.path.exists() or not is_writable(self.path.parent):
            return []
        try:
            with contextlib.closing(sqlite3.connect(self.path, timeout=_BUSY_SECONDS)) as db:
                found = [row[0] for row in db.execute("PRAGMA quick_check(5)") if row[0] != "ok"]
                if db.execute("PRAGMA user_version").fetchone() == (VERSION,):
                    db.execute("INSERT INTO words (words) VALUES ('integrity-check')")
                return found
        except sqlite3.DatabaseError as error:
            return [str(error)] if _is_damage(error) else []

    def discard(self) -> None:
        """Delete the file; the follower fills a new one."""
        with self._lock:
            self._file = file_identity(self.path)
            self._discard("")

    def _open(self) -> None:
        self._close()
        if is_writable(self.path.parent):
            try:
                self._write()
            except (sqlite3.Error, OSError) as error:
                if not is_refused(error):
                    raise
            else:
                return
        self._read()

    def _write(self) -> None:
        try:
            self._connect()
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
            self._discard(str(error))
            self._connect()

    def _connect(self) -> None:
        self.path.touch(mode=0o600)
        self._file = file_identity(self.path)
        db = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            if _version(db) != VERSION:
                _create(db)
            self._identity = _identity(db)
        except sqlite3.DatabaseError:
            db.close()
            raise
        self._db = db

    def _read(self) -> None:
        """Connect to a file on a disk that cannot be written."""
        self._file = file_identity(self.path)
        db = sqlite3.connect(read_only_uri(self.path), uri=True, check_same_thread=False)
        try:
            if _version(db) != VERSION:
                raise StoreUnavailable(f"{self.path} is of another version, and its disk cannot be written.")
            db.execute("PRAGMA temp_store = MEMORY")
            self._identity = _identity(db)
        except (sqlite3.DatabaseError, StoreUnavailable):
            db.close()
            raise
        self._db = db

    def _discard(self, reason: str) -> None:
        """Delete the file, unless another process has replaced it."""
        damaged = self._file
        self._close()
        if damaged == file_identity(self.path):
            log(self.path.parent, "vectors deleted", reason=reason)
            for suffix in ("", "-wal", "-shm"):
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    def _close(self) -> None:
        if self._db and self._file and self._file[0] == os.getpid():
            self._db.close()  # one of a parent process is left alone: closing it would disturb its locks
        self._db = self._file = None


def identity_of(path: Path) -> str:
    """The identity of a file, which is neither created nor changed; "" if it cannot be used."""
    try:
        with contextlib.closing(sqlite3.connect(read_only_uri(path), uri=True)) as db:
            return _identity(db) if _version(db) == VERSION else ""
    except sqlite3.Error:
        return ""


def _version(db: sqlite3.Connection) -> int:
    (version,) = db.execute("PRAGMA user_version").fetchone()
    return int(version)


def _identity(db: sqlite3.Connection) -> str:
    (number,) = db.execute("PRAGMA application_id").fetchone()
    return f"{VERSION}-{number}"


def _create(db: sqlite3.Connection) -> None:
    db.execute("BEGIN IMMEDIATE")
    with db:
        if _version(db) != VERSION:  # another process may have been faster
            for statement in _SCHEMA.split(";\n"):
                db.execute(statement)
            db.execute(f"PRAGMA application_id = {int.from_bytes(os.urandom(4)) >> 1:d}")
            db.execute(f"PRAGMA user_version = {VERSION:d}")


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether a file is damaged, not a database, or without its tables. If it is only locked or full, it is intact."""
    code = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF in (_CORRUPT, _NOT_A_DATABASE) or code == SHORT_READ or "no such table" in str(error)
