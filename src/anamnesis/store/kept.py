"""kept.db: the replaced versions of notes, and the ids of notes without front matter. It is neither derived nor synced.

A version is kept before the transaction of the index commits that replaces it: after a kill it is kept again, and a
disk that cannot be written leaves the index as it is, so that nothing is lost.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from anamnesis.disk import FileIdentity, file_identity
from anamnesis.errors import StoreUnavailable, Unwritable
from anamnesis.notes import Memory, derived_id, file_time, parse, render
from anamnesis.readonly import is_refused, is_writable, read_only_uri
from anamnesis.store.tombstones import is_purged

_SCHEMA = Path(__file__).with_name("kept.sql")
_VERSION = 1
_DAMAGED = ".damaged"
_BUSY_SECONDS = 5.0
# Characters of a note's versions together, for each version that may be kept.
_CHARACTERS_EACH = 20_000

T = TypeVar("T")

_INSERT = """
    INSERT INTO versions (note_id, at, text) SELECT :note_id, :at, :text
    WHERE NOT EXISTS (SELECT 1 FROM versions WHERE note_id = :note_id AND at = :at AND text = :text)
"""
_PRUNE = """
    DELETE FROM versions WHERE number IN (
        SELECT number FROM (
            SELECT number, row_number() OVER newest AS place, sum(length(text)) OVER newest AS size
            FROM versions WHERE note_id = :note_id WINDOW newest AS (ORDER BY at DESC, number DESC)
        ) WHERE place > :most OR size > :size
    )
"""


class Replaced(NamedTuple):
    """A replaced version of a note, and the time of its file in nanoseconds."""

    note: Memory
    at: int


class Kept:
    """The kept.db of a store, for any number of threads; other processes may use the same file."""

    def __init__(self, root: Path, most: int) -> None:
        self._root = root
        self._path = root / "kept.db"
        self.most = most
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._identity: FileIdentity | None = None

    def keep(self, replaced: Sequence[Replaced]) -> None:
        """Keep versions, and of each note only as many and as long ones as the setting allows."""
        longest = self.most * _CHARACTERS_EACH
        wanted = [
            each for each in replaced if len(each.note.body) <= longest and not is_purged(self._root, each.note.id)
        ]
        if wanted and self.most:
            from anamnesis.store.placing import without_secrets

            clean = [(render(without_secrets(note)), note.id, at) for note, at in wanted]
            self._change(lambda db: _keep(db, clean, self.most, longest))

    def versions(self, note_id: str) -> list[Replaced]:
        """The replaced versions of a note, the oldest first."""
        query = "SELECT text, at FROM versions WHERE note_id = :id ORDER BY at, number"
        rows = self._read(lambda db: db.execute(query, {"id": note_id}).fetchall())
        return [Replaced(parse(text), at) for text, at in rows or ()]

    def id_of(self, path: str, hash: bytes, mtime_ns: int, exists: Callable[[str], bool]) -> str:
        """The id of the note in a file without front matter, recorded unless the disk cannot be written.

        It is the one recorded for the path, or for the content if its file was renamed; else one of the file's time and
        content, so that it is the same after the record is lost.
        """
        query = "SELECT path, hash, note_id FROM bare_files WHERE path = :path OR hash = :hash"
        known = self._read(lambda db: db.execute(query, {"path": path, "hash": hash}).fetchall()) or []
        here = [each for each in known if each[0] == path]
        gone = [each for each in known if each[0] != path and not exists(each[0])]
        found = next(iter([*here, *gone]), None)
        if found and found[:2] == (path, hash):
            return str(found[2])
        moment = file_time(mtime_ns)
        new = derived_id(moment, f"file:{hash.hex()}")
        if any(each[2] == new for each in known):  # a copy with the time of its original
            new = derived_id(moment, f"file:{hash.hex()}:{path}")
        note_id = str(found[2]) if found else new
        with contextlib.suppress(StoreUnavailable):
            self.record(path, hash, note_id, former=found[0] if found else path)
        return note_id

    def ids_at(self, paths: Iterable[str]) -> dict[str, str]:
        """The ids that are recorded for these paths."""
        query = "SELECT path, note_id FROM bare_files WHERE path IN (SELECT value FROM json_each(:paths))"
        values = {"paths": json.dumps([*paths])}
        return dict(self._read(lambda db: db.execute(query, values).fetchall()) or ())

    def record(self, path: str, hash: bytes, note_id: str, *, former: str = "") -> None:
        """Record the note of a file without front matter, in place of what is recorded for its `former` path."""
        values = {"path": path, "hash": hash, "id": note_id, "former": former}
        self._change(lambda db: _record(db, values))

    def forget(self, ids: Iterable[str]) -> None:
        """Remove everything about purged notes."""
        self._path.with_name(self._path.name + _DAMAGED).unlink(missing_ok=True)
        if self._path.exists():
            self._change(lambda db: _forget(db, [*ids]))

    def erase(self) -> bool:
        """Erase what removed versions left in the file; False if another program prevented it."""
        from anamnesis.erasure import erase_deleted  # only a purge needs it

        if not self._path.exists():
            return True
        with self._lock:
            return erase_deleted(self._opened())

    def close(self) -> None:
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._db and self._identity and self._identity[0] == os.getpid():
            self._db.close()  # one of a parent process is left alone: closing it would disturb its locks
        self._db = self._identity = None

    def _change(self, work: Callable[[sqlite3.Connection], None]) -> None:
        """Run a transaction; a file that cannot be used is moved aside, and a new one takes its place."""
        try:
            with self._lock:
                try:
                    _transact(self._opened(), work)
                except sqlite3.DatabaseError as error:
                    if not self._is_unusable(error):
                        raise
                    self._move_aside()
                    _transact(self._opened(), work)
        except (sqlite3.Error, OSError) as error:
            kind = Unwritable if is_refused(error) else StoreUnavailable
            raise kind(f"The earlier versions in {self._path} cannot be used now: {error}.") from error

    def _read(self, query: Callable[[sqlite3.Connection], T]) -> T | None:
        """None if there is nothing that can be read."""
        if not self._path.exists():
            return None
        try:
            if is_writable(self._root):
                with self._lock:
                    return query(self._opened())
            with contextlib.closing(sqlite3.connect(read_only_uri(self._path), uri=True)) as db:
                return query(db)
        except sqlite3.DatabaseError:
            return None

    def _opened(self) -> sqlite3.Connection:
        """The connection to the file that is there now."""
        if self._db is None or self._identity != file_identity(self._path):
            self._close()
            self._path.touch(mode=0o600)  # SQLite would let other users read it
            self._identity = file_identity(self._path)
            self._db = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            _prepare(self._db)
        return self._db

    def _is_unusable(self, error: sqlite3.DatabaseError) -> bool:
        """Whether the file is damaged, of another kind, or closed to us in a folder that is not."""
        if not isinstance(error, sqlite3.OperationalError) or "no such" in str(error):
            return True
        return is_refused(error) and is_writable(self._root) and not os.access(self._path, os.R_OK | os.W_OK)

    def _move_aside(self) -> None:
        self._close()
        for suffix in ("-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        os.replace(self._path, self._path.with_name(self._path.name + _DAMAGED))


def _prepare(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA synchronous = NORMAL")
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version == 0:
        db.execute("PRAGMA journal_mode = WAL")
        _transact(db, _create)


def _create(db: sqlite3.Connection) -> None:
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version == 0:  # another process may have been faster
        for statement in _SCHEMA.read_text("utf-8").split(";\n"):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {_VERSION:d}")


def _transact(db: sqlite3.Connection, work: Callable[[sqlite3.Connection], None]) -> None:
    db.execute("BEGIN IMMEDIATE")
    try:
        work(db)
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _keep(db: sqlite3.Connection, versions: Iterable[tuple[str, str, int]], most: int, size: int) -> None:
    for text, note_id, at in versions:
        db.execute(_INSERT, {"note_id": note_id, "at": at, "text": text})
        db.execute(_PRUNE, {"note_id": note_id, "most": most, "size": size})


def _record(db: sqlite3.Connection, values: Mapping[str, object]) -> None:
    db.execute("DELETE FROM bare_files WHERE path = :former", values)
    db.execute("INSERT OR REPLACE INTO bare_files (path, hash, note_id) VALUES (:path, :hash, :id)", values)


def _forget(db: sqlite3.Connection, ids: Sequence[str]) -> None:
    from anamnesis.erasure import overwriting

    with overwriting(db):
        db.executemany("DELETE FROM bare_files WHERE note_id = ?", [(id,) for id in ids])
        db.executemany("DELETE FROM versions WHERE note_id = ?", [(id,) for id in ids])
