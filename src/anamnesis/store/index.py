"""index.db: its connections and transactions. Contains no query.

Reads take no lock. A rebuild replaces the content of the live index in one transaction; readers in other processes
switch from the old content to the new between two statements.
On a read-only disk, reads go to a private index, which is index.db as it is or a copy in memory.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from anamnesis.disk import FileIdentity, file_identity, locked
from anamnesis.errors import StoreUnavailable, Unwritable
from anamnesis.readonly import SHORT_READ, is_refused, is_writable
from anamnesis.store import machine_database
from anamnesis.store.files import NoteFiles
from anamnesis.store.kept import KeptVersions, ReplacedVersion
from anamnesis.store.refresh import IndexDifference, Progress, outdated, refresh

if TYPE_CHECKING:
    from anamnesis.store.private import PrivateIndex

# Earlier releases used versions up to 9.
SCHEMA_VERSION = 18
BUSY_TIMEOUT = 5.0
# KiB of page cache: more makes no search faster at 50,000 notes, because the system caches the file as well.
_CACHE = 4_000
_CORRUPT, _NOT_A_DATABASE = 11, 26

_READ, _WRITE, _WRITE_NOW = "read", "write", "write now"

T = TypeVar("T")
FindIdle = Callable[["Connection"], frozenset[str]]


def _none(_db: Connection) -> frozenset[str]:
    return frozenset()


class Index:
    """The index of one store, for any number of threads; other processes may use the same file."""

    def __init__(self, path: Path, files: NoteFiles, kept: KeptVersions, find_idle: FindIdle | None = None) -> None:
        """`find_idle` finds the notes that hide nothing, because the user has not accepted them."""
        self.path = path
        self.find_idle = find_idle or _none
        self._name = str(path)
        self._files = files
        self._kept = kept
        self._idle: list[Connection] = []
        self._identity: FileIdentity | None = None  # of the file that the idle connections are open on
        self._opening = threading.Lock()
        self._writing = threading.Lock()
        self._private: PrivateIndex | None = None  # for reads, until the disk can be written again

    def read(self, query: Callable[[Connection], T]) -> T:
        """Run `query` on one snapshot of the index; a damaged or missing index is rebuilt first."""
        if self._private is None and (self._identity or is_writable(self.path.parent)):
            with contextlib.suppress(Unwritable):
                return self._run(_READ, query)
        with self._translated():
            return self.private().read(query)

    @property
    def is_private(self) -> bool:
        return self._private is not None

    def private(self) -> PrivateIndex:
        """The index for reads while the disk cannot be written."""
        from anamnesis.store.private import PrivateIndex

        with self._opening:
            self._private = self._private or PrivateIndex(self.path, self._files, self.find_idle)
            return self._private

    def write(self, change: Callable[[Connection], T], *, patient: bool = True) -> T:
        """Run `change` as one transaction; unless `patient`, only if no other writer is active."""
        if not self._writing.acquire(blocking=patient):
            raise StoreUnavailable(f"The index {self.path} is being written.")
        try:
            result = self._run(_WRITE if patient else _WRITE_NOW, change)
            self._leave_private()
            return result
        finally:
            self._writing.release()

    def write_found(self, change: Callable[[Connection], T], *, patient: bool = True) -> T:
        """Like `write`, for changes that a read found in the files: made in memory if the disk cannot be written."""
        if is_writable(self.path.parent):
            with contextlib.suppress(Unwritable):
                return self.write(change, patient=patient)
        with self._translated():
            return self.private().write(change)

    def refresh(self) -> IndexDifference:
        """Bring the index up to date with the files."""
        return refresh(self._read_disk, self.write, self._files)

    def refresh_unread(self) -> None:
        """Promote the duplicate of an id when the original is gone; skipped if another writer is active."""
        with contextlib.suppress(StoreUnavailable):
            refresh(self._read_disk, partial(self.write, patient=False), self._files, only=[])

    def is_outdated(self) -> bool:
        """Whether `refresh_folders` has anything to do, such as a folder with another mtime than the recorded one."""
        return self.read(lambda db: outdated(db, self._files)) is not None

    def refresh_folders(self) -> bool:
        """Index what changed in folders with a new mtime, unless another writer is active; whether anything did."""
        changed = self._read_disk(lambda db: outdated(db, self._files))
        if changed is None:
            self._leave_private()
            return False
        found = refresh(self._read_disk, partial(self.write, patient=False), self._files, only=changed)
        return not changed or bool(found.changed or found.gone)

    def rebuild(self, progress: Progress | None = None) -> None:
        """Rebuild the index from the files and replace the live one with it."""
        from anamnesis.store.rebuilding import rebuild  # that hooks hardly ever need

        if usable := self._usable():
            usable.close()
            with contextlib.suppress(sqlite3.Error, OSError):  # saves the versions replaced since the last refresh
                refresh(partial(self._transact, _READ), partial(self._transact, _WRITE), self._files)
        with self._translated(), locked(self.path.with_name("index.lock")):
            usable = self._usable()
            if usable:
                usable.close()
            rebuild(self.path, self._files, progress, in_place=usable is not None)
        self._leave_private()

    def erase(self) -> bool:
        """Erase what deleted rows left in index.db and the files beside it; False if another program prevented it."""
        from anamnesis.erasure import erase_deleted  # only a purge needs them
        from anamnesis.store.rebuilding import discard

        with self._translated(), locked(self.path.with_name("index.lock")):
            self.path.with_name(f"{self.path.name}.new").unlink(missing_ok=True)  # left by a killed rebuild
            usable = self._usable()
            if usable is None:
                discard(self.path)  # it is rebuilt from the files
                return True
            with contextlib.closing(usable) as db:
                return erase_deleted(db)

    def close(self) -> None:
        with contextlib.suppress(IndexError):
            while True:
                self._idle.pop().close()
        self._identity = None
        self._leave_private()

    def _leave_private(self) -> None:
        private, self._private = self._private, None
        if private:
            private.close()

    def _read_disk(self, query: Callable[[Connection], T]) -> T:
        return self._run(_READ, query)

    def _run(self, mode: str, work: Callable[[Connection], T]) -> T:
        with self._translated():
            try:
                return self._transact(mode, work)
            except sqlite3.DatabaseError as error:
                if not is_unusable(error):
                    raise
            self._replace()
            return self._transact(mode, work)

    def _transact(self, mode: str, work: Callable[[Connection], T]) -> T:
        with self._connection() as db:
            return transact(db, partial(self._keeping, work) if mode != _READ else work, mode, self.find_idle)

    def _keeping(self, work: Callable[[Connection], T], db: Connection) -> T:
        """Run `work`, and save the versions of notes that it replaced before it is committed."""
        result = work(db)
        self._kept.keep(db.replaced)
        return result

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            kind = Unwritable if is_refused(error) else StoreUnavailable
            raise kind(
                f"The index {self.path} cannot be used now: {error}.",
                "The notes are safe in their files; run `anamnesis doctor`.",
            ) from error

    @contextlib.contextmanager
    def _connection(self) -> Iterator[Connection]:
        """A connection for one use, from a pool that grows to as many as were ever needed at once."""
        identity = self._current_identity()
        if identity is None or identity != self._identity:
            with self._opening:
                identity = self._open()
        try:
            db = self._idle.pop()
        except IndexError:
            db = connect(self.path)
        try:
            yield db
        finally:
            if identity == self._identity:
                self._return(db)
            else:
                db.close()

    def _return(self, db: Connection) -> None:
        """Return a connection to the pool: the next use gets the last one, which alone keeps its page cache."""
        with contextlib.suppress(IndexError):
            other = self._idle.pop()
            if other.has_cache:
                other.execute("PRAGMA shrink_memory")
                other.has_cache = False
            self._idle.append(other)
        db.has_cache = True
        self._idle.append(db)

    def _current_identity(self) -> FileIdentity | None:
        return file_identity(self._name)

    def _open(self) -> FileIdentity | None:
        """Drop connections to a replaced file or of a parent process, and make sure that there is an index."""
        identity = self._current_identity()
        if identity is None or identity != self._identity:
            if self._identity and self._identity[0] != os.getpid():
                _inherited.extend(self._idle)  # closing them here would disturb the parent's locks
                self._idle.clear()
            self.close()
            if db := self._usable():
                self._idle.append(db)
            else:
                self._replace()
            self._identity = self._current_identity()
        return self._identity

    def _usable(self) -> Connection | None:
        """A connection, if index.db is an index of this version."""
        if not self.path.exists():
            return None
        db = None
        try:
            db = connect(self.path)
            (version,) = db.execute("PRAGMA user_version").fetchone()
            if version == SCHEMA_VERSION:
                return db
        except sqlite3.DatabaseError as error:
            if not is_unusable(error):
                raise
        if db:
            db.close()
        return None

    def _stamp(self) -> tuple[int, int] | None:
        """What changes when the index is replaced: the inode, or the schema cookie, which a rebuild increments."""
        if not self.path.exists():  # SQLite would create it
            return None
        try:
            with contextlib.closing(connect(self.path)) as db:
                (cookie,) = db.execute("PRAGMA schema_version").fetchone()
            return self.path.stat().st_ino, cookie
        except (sqlite3.DatabaseError, FileNotFoundError):
            return None

    def _replace(self) -> None:
        """Rebuild an unusable index, unless another process has just replaced it."""
        from anamnesis.store.rebuilding import rebuild  # that hooks hardly ever need

        self.close()
        found = self._stamp()
        with locked(self.path.with_name("index.lock")):
            if self._stamp() != found and (db := self._usable()):
                db.close()
            else:
                rebuild(self.path, self._files, None, in_place=False)


class Learned:
    """Cached facts about the index: how many notes hold a word, and how many hold it as a part of an identifier; the
    projects by the last parts of their names; the numbers of the notes that a filter selects; facets; the notes that
    hide nothing.
    """

    def __init__(self) -> None:
        self.word_counts: dict[str, int] = {}
        self.part_counts: dict[str, int] = {}
        self.selected: dict[Any, Any] = {}
        self.facets: dict[Any, Any] = {}
        self.idle: dict[object, frozenset[str]] = {}
        self.projects: dict[str, list[str]] | None = None


class Connection(sqlite3.Connection):
    """A connection with the versions that its transaction replaced, and a cache that ends when the index changes.

    In SQL, `hides(id)` says whether a note may hide those that it supersedes or outdates: `find_idle` finds those that
    may not, at most once in each transaction.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.replaced: list[ReplacedVersion] = []  # versions of notes that the transaction replaced
        self.has_cache = True
        self.find_idle: FindIdle = _none
        self._idle: frozenset[str] | None = None
        self.create_function("hides", 1, lambda note: note not in self.idle())

    def begin(self, find_idle: FindIdle) -> None:
        """Forget what belongs to the last transaction."""
        self.replaced.clear()
        self.find_idle, self._idle = find_idle, None

    def idle(self) -> frozenset[str]:
        """The notes that hide nothing."""
        if self._idle is None:
            self._idle = self.find_idle(self)
        return self._idle

    _learned_at: tuple[int, int] | None = None
    _learned: Learned

    def learned(self) -> Learned:
        (others_commits,) = self.execute("PRAGMA data_version").fetchone()
        now = (others_commits, self.total_changes)
        if now != self._learned_at or len(self._learned.word_counts) > 50_000:
            self._learned_at, self._learned = now, Learned()
        return self._learned


_inherited: list[Connection] = []


def connect(path: Path, *, create: bool = False) -> Connection:
    if create:
        path.touch(mode=0o600)  # SQLite would let other users read it; its other files get the same mode
    db = sqlite3.connect(
        path,
        timeout=BUSY_TIMEOUT,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=64,
        factory=Connection,
    )
    try:
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute(f"PRAGMA cache_size = -{_CACHE}")
        # Most writes change the same pages: a WAL of 16 MB, kept at that size, is checkpointed a fifth as often.
        db.execute("PRAGMA wal_autocheckpoint = 4000")
        db.execute("PRAGMA journal_size_limit = 16000000")
    except sqlite3.DatabaseError:
        db.close()
        raise
    return db


def transact(db: Connection, work: Callable[[Connection], T], mode: str = _READ, find_idle: FindIdle = _none) -> T:
    """Run `work` as one transaction, which records the notes that it replaces."""
    db.begin(find_idle)
    return machine_database.transact(db, work, partial(_begin, mode=mode))


def _begin(db: Connection, mode: str) -> None:
    if mode == _READ:
        db.execute("BEGIN")
    elif mode == _WRITE:
        db.execute("BEGIN IMMEDIATE")
    else:
        db.execute("PRAGMA busy_timeout = 0")
        try:
            db.execute("BEGIN IMMEDIATE")
        finally:
            db.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT * 1000:.0f}")


def is_unusable(error: sqlite3.DatabaseError) -> bool:
    """Whether the index is damaged, not a database, without its journal, or of another version."""
    code = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF in (_CORRUPT, _NOT_A_DATABASE) or code == SHORT_READ or "no such" in str(error)
