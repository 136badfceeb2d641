"""engram.db: its path, connections and transactions. Knows no query.

Engram's own program may use the file before us, after us and at the same time. So a connection waits for other writers,
a change is one short transaction that takes the write lock first, and opening a complete file writes nothing.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from anamnesis.errors import AnamnesisError, StoreUnavailable, explained
from anamnesis.readonly import is_refused, is_writable, read_only_uri

if TYPE_CHECKING:
    from anamnesis.engram.record import Observation

NAME = "engram.db"
# SQLite's own busy timeout; after it, the lock is tried again until PATIENCE_SECONDS.
BUSY_SECONDS = 5.0
PATIENCE_SECONDS = 60.0
# KiB of page cache: enough for the pages of one transaction of the daemon.
_CACHE = 3_000
_BUSY, _LOCKED = 5, 6
T = TypeVar("T")


class Connection(sqlite3.Connection):
    """A connection with the observations that its last transaction added, as it stored them, by their ids."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.added: dict[int, Observation] = {}


class Refused(AnamnesisError):
    """A request that the store refuses, with Engram's message."""


class NotFound(Refused):
    """There is no such row, or it is deleted."""

    def __init__(self, message: str = "sql: no rows in result set") -> None:
        super().__init__(message)


def prepare(path: Path) -> None:
    """Create or complete engram.db; existing rows change only by Engram's own backfills."""
    from anamnesis.engram import schema  # 1 ms that hooks need not spend

    with _translated(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            path.touch(mode=0o600)  # SQLite would create it readable for other users
    with contextlib.closing(connect(path)) as db, _translated(path):
        schema.refuse_older(db, path)
        _patiently(lambda: db.execute("PRAGMA journal_mode = WAL").fetchone())
        if not schema.is_complete(db):
            with writing(db):
                schema.complete(db)


def connect(path: Path, *, check_same_thread: bool = True) -> Connection:
    """A connection to an existing engram.db, without a transaction; see `prepare` and `writing`."""
    with _translated(path):
        return _opened(f"{path.absolute().as_uri()}?mode=rw", check_same_thread=check_same_thread)


def connect_to_read(path: Path) -> Connection:
    """A connection for reads, also where the disk cannot be written; see `reading`."""
    with _translated(path):
        try:
            if is_writable(path.parent):
                # SQLite creates a log even for a read, and only a connection that can write removes it.
                return _opened(f"{path.absolute().as_uri()}?mode=rw")
        except sqlite3.Error as error:
            if not is_refused(error):
                raise
        return _opened(read_only_uri(path))


def _opened(uri: str, *, check_same_thread: bool = True) -> Connection:
    db = sqlite3.connect(
        uri,
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=check_same_thread,
        cached_statements=256,
        factory=Connection,
    )
    try:
        # Engram cuts texts between two bytes of a character. They have to be readable all the same.
        db.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("PRAGMA temp_store = MEMORY")
        db.execute(f"PRAGMA cache_size = -{_CACHE}")
        db.execute("PRAGMA journal_size_limit = 4000000")  # reads the file: one that cannot be read fails here
    except BaseException:
        db.close()
        raise
    return db


@contextlib.contextmanager
def writing(db: sqlite3.Connection) -> Iterator[None]:
    """One atomic change: a transaction, or a savepoint of the current one.

    Waits for other writers instead of failing.
    """
    if db.in_transaction:
        begin, commit, rollback = "SAVEPOINT part", "RELEASE part", "ROLLBACK TO part"
    else:
        begin, commit, rollback = "BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"
        _forget_added(db)
    _patiently(lambda: db.execute(begin))
    try:
        yield
        db.execute(commit)
    except BaseException:
        _forget_added(db)
        if db.in_transaction:  # a full disk ends the transaction by itself
            db.execute(rollback)
            if begin.startswith("SAVEPOINT"):
                db.execute(commit)
        raise


@contextlib.contextmanager
def reading(db: sqlite3.Connection) -> Iterator[None]:
    """Several reads of one snapshot, whatever others write."""
    if db.in_transaction:
        yield
        return
    db.execute("BEGIN")
    try:
        yield
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def refusal(error: sqlite3.IntegrityError) -> Refused:
    """Engram's message for a row that violates a constraint."""
    return Refused(f"constraint failed: {error} ({error.sqlite_errorcode})")


def _forget_added(db: sqlite3.Connection) -> None:
    if isinstance(db, Connection):
        db.added.clear()


def _patiently(action: Callable[[], T]) -> T:
    deadline = time.monotonic() + PATIENCE_SECONDS
    pause = 0.001
    while True:
        try:
            return action()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (_BUSY, _LOCKED):
                raise
            if time.monotonic() > deadline:
                raise StoreUnavailable(
                    f"Another program has held {NAME} for {PATIENCE_SECONDS:.0f} s.",
                    "Wait for it or stop it, then try again.",
                ) from error
        time.sleep(pause)  # a change to WAL fails at once, without the busy timeout
        pause = min(pause * 2, 0.05)


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise explained(error) from error
    except sqlite3.Error as error:
        raise StoreUnavailable(f"{path} cannot be used now: {error}.", "Nothing in it was changed.") from error
