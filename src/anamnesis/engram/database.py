"""engram.db: where it is, its connections and its transactions. Knows no query.

Engram's own program may use the file before us, after us and at the same time. So a connection waits for whoever is
writing, a change is one short transaction that takes the write lock first, and opening a complete file writes nothing.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

from anamnesis.errors import AnamnesisError, InvalidArgument, StoreUnavailable

NAME = "engram.db"
# SQLite waits so long by itself; somebody who holds the lock for longer is waited for again.
BUSY_SECONDS = 5.0
PATIENCE_SECONDS = 60.0
_BUSY, _LOCKED = 5, 6
T = TypeVar("T")


class Refused(AnamnesisError):
    """What the store does not do; the message is the one that Engram answers with."""


class NotFound(Refused):
    """There is no such row, or it is deleted."""

    def __init__(self, message: str = "sql: no rows in result set") -> None:
        super().__init__(message)


def resolve_engram_db(environ: Mapping[str, str], home: Path, anamnesis_home: Path) -> Path:
    """Where engram.db is: in ENGRAM_DATA_DIR, else in ~/.engram if there is one, else in ANAMNESIS_HOME."""
    if given := environ.get("ENGRAM_DATA_DIR"):
        if not Path(given).is_absolute():
            raise InvalidArgument(
                f"ENGRAM_DATA_DIR {given!r} is not an absolute path.", "Set it to one that starts at the root."
            )
        return Path(given) / NAME
    engram = home / ".engram"
    return (engram if engram.is_dir() else anamnesis_home) / NAME


def prepare(path: Path) -> None:
    """Make engram.db, or complete the one that is there; its rows stay as they are, but for Engram's own backfills."""
    from anamnesis.engram import schema  # 1 ms that hooks need not spend

    with _translated(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            path.touch(mode=0o600)  # SQLite would let other users read it
    with contextlib.closing(connect(path)) as db, _translated(path):
        schema.refuse_older(db, path)
        _patiently(lambda: db.execute("PRAGMA journal_mode = WAL").fetchone())
        if not schema.is_complete(db):
            with writing(db):
                schema.complete(db)


def connect(path: Path, *, check_same_thread: bool = True) -> sqlite3.Connection:
    """A connection to an engram.db that is there, without a transaction; see `prepare` and `writing`."""
    with _translated(path):
        db = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=rw",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=check_same_thread,
            cached_statements=256,
        )
        try:
            # Engram cuts texts between two bytes of a character. They have to be readable all the same.
            db.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute("PRAGMA foreign_keys = ON")
            db.execute("PRAGMA temp_store = MEMORY")
            db.execute("PRAGMA cache_size = -16000")
            db.execute("PRAGMA journal_size_limit = 4000000")
        except BaseException:
            db.close()
            raise
    return db


@contextlib.contextmanager
def writing(db: sqlite3.Connection) -> Iterator[None]:
    """One change, whole or not at all: a transaction, or a part of the one that is under way.

    Nobody is refused because somebody else is writing: whoever comes later waits.
    """
    if db.in_transaction:
        begin, commit, rollback = "SAVEPOINT part", "RELEASE part", "ROLLBACK TO part"
    else:
        begin, commit, rollback = "BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"
    _patiently(lambda: db.execute(begin))
    try:
        yield
        db.execute(commit)
    except BaseException:
        if db.in_transaction:  # a full disk ends the transaction by itself
            db.execute(rollback)
            if begin.startswith("SAVEPOINT"):
                db.execute(commit)
        raise


@contextlib.contextmanager
def reading(db: sqlite3.Connection) -> Iterator[None]:
    """Several reads of one and the same state, whatever others write meanwhile."""
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
    """What Engram says of a row that a constraint does not let in."""
    return Refused(f"constraint failed: {error} ({error.sqlite_errorcode})")


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
        time.sleep(pause)  # changing to WAL is refused at once, without waiting
        pause = min(pause * 2, 0.05)


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StoreUnavailable(f"{path} cannot be used now: {error}.", "Nothing in it was changed.") from error
