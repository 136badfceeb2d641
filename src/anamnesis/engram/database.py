"""engram.db: where it is, its connections and transactions, and its tables, made or completed. Knows no query.

Engram's own program may use the file before us, after us and at the same time. So a connection waits for whoever is
writing, a change is one short transaction that takes the write lock first, and opening a complete file writes nothing.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TypeVar

from anamnesis.errors import AnamnesisError, InvalidArgument, StoreUnavailable

NAME = "engram.db"
# SQLite waits so long by itself; somebody who holds the lock for longer is waited for again.
BUSY_SECONDS = 5.0
PATIENCE_SECONDS = 60.0
_BUSY, _LOCKED = 5, 6
# What an observation had before the oldest column that is added today.
_FIRST_COLUMNS = ("id", "session_id", "type", "title", "content", "tool_name", "project", "created_at")
_MADE = re.compile(r"CREATE (?:VIRTUAL )?(TABLE|INDEX|TRIGGER) (\w+)|ALTER TABLE (\w+) ADD COLUMN (\w+)")

_UNFINISHED = """
    scope IS NULL OR scope = '' OR topic_key = '' OR revision_count IS NULL OR revision_count < 1
    OR duplicate_count IS NULL OR duplicate_count < 1 OR updated_at IS NULL OR updated_at = ''
    OR sync_id IS NULL OR sync_id = ''
"""
_BACKFILLS = (
    "UPDATE observations SET scope = 'project' WHERE scope IS NULL OR scope = ''",
    "UPDATE observations SET topic_key = NULL WHERE topic_key = ''",
    "UPDATE observations SET revision_count = 1 WHERE revision_count IS NULL OR revision_count < 1",
    "UPDATE observations SET duplicate_count = 1 WHERE duplicate_count IS NULL OR duplicate_count < 1",
    "UPDATE observations SET updated_at = created_at WHERE updated_at IS NULL OR updated_at = ''",
    "UPDATE observations SET sync_id = 'obs-' || lower(hex(randomblob(16))) WHERE sync_id IS NULL OR sync_id = ''",
    "UPDATE user_prompts SET project = '' WHERE project IS NULL",
    "UPDATE user_prompts SET sync_id = 'prompt-' || lower(hex(randomblob(16))) WHERE sync_id IS NULL OR sync_id = ''",
    "INSERT OR IGNORE INTO sync_state (target_key, lifecycle, updated_at) VALUES ('cloud', 'idle', datetime('now'))",
)
# The tables whose words are indexed, their indexes, and how the triggers begin that keep these.
_WORDS = (("observations", "observations_fts", "obs_fts"), ("user_prompts", "prompts_fts", "prompt_fts"))

T = TypeVar("T")


class Refused(AnamnesisError):
    """What the store does not do; the message is the one that Engram answers with."""


class NotFound(Refused):
    """There is no such row, or it is deleted."""

    def __init__(self, message: str = "sql: no rows in result set") -> None:
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class _Statement:
    """A statement of the schema, and the name, or the table and its column, that it makes."""

    made: tuple[str, str]
    sql: str


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
    with _translated(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            path.touch(mode=0o600)  # SQLite would let other users read it
    with contextlib.closing(connect(path)) as db, _translated(path):
        shape = _shape(db)
        _refuse_older(db, shape, path)
        _patiently(lambda: db.execute("PRAGMA journal_mode = WAL").fetchone())
        if any(statement.made not in shape for statement in _statements()) or _is_unfinished(db):
            with writing(db):
                _complete(db)


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


@cache
def _statements() -> tuple[_Statement, ...]:
    found, sql = [], ""
    for line in Path(__file__).with_name("schema.sql").read_text("utf-8").splitlines(keepends=True):
        sql += line
        if sqlite3.complete_statement(sql):
            _, name, table, column = _MADE.search(sql).groups()  # type: ignore[union-attr]
            found.append(_Statement((name or table, column or ""), sql.strip()))
            sql = ""
    return tuple(found)


def _shape(db: sqlite3.Connection) -> set[tuple[str, str]]:
    """What there is: names with an empty column, and the columns of the tables that could lack some."""
    return set(
        db.execute(
            "SELECT name, '' FROM sqlite_master UNION ALL"
            " SELECT tables.name, columns.name FROM sqlite_master AS tables, pragma_table_xinfo(tables.name) AS columns"
            " WHERE tables.name IN ('observations', 'user_prompts', 'sync_mutations', 'observations_fts')"
        )
    )


def _refuse_older(db: sqlite3.Connection, shape: set[tuple[str, str]], path: Path) -> None:
    if ("observations", "") not in shape:
        return
    key = db.execute("SELECT name FROM pragma_table_info('observations') WHERE pk = 1").fetchone()
    if key != ("id",) or not shape.issuperset(("observations", column) for column in _FIRST_COLUMNS):
        raise StoreUnavailable(
            f"{path} has the tables of a very old Engram, and nothing in it was changed.",
            "Run engram once to migrate first, then try again.",
        )


def _is_unfinished(db: sqlite3.Connection) -> bool:
    """Whether a backfill has something to do. Engram leaves such rows too: an import, a prompt without a project."""
    (unfinished,) = db.execute(
        f"SELECT EXISTS (SELECT 1 FROM observations WHERE {_UNFINISHED})"
        " OR EXISTS (SELECT 1 FROM user_prompts WHERE project IS NULL)"
        " OR EXISTS (SELECT 1 FROM user_prompts WHERE sync_id IS NULL)"
        " OR EXISTS (SELECT 1 FROM user_prompts WHERE sync_id = '')"
        " OR NOT EXISTS (SELECT 1 FROM sync_state WHERE target_key = 'cloud')"
    ).fetchone()
    return bool(unfinished)


def _complete(db: sqlite3.Connection) -> None:
    """Run what is missing of the schema, and the backfills."""
    shape = _shape(db)
    if ("observations_fts", "") in shape and ("observations_fts", "topic_key") not in shape:
        for trigger in ("obs_fts_insert", "obs_fts_update", "obs_fts_delete"):
            db.execute(f"DROP TRIGGER IF EXISTS {trigger}")
        db.execute("DROP TABLE observations_fts")
    made = set()
    for statement in _statements():
        if statement.made not in _shape(db):
            db.execute(statement.sql)
            made.add(statement.made)
    names = {name for name, _ in made}
    if names:
        _index_all_words(db, names)
    if any(name.startswith("anamnesis_live") for name in names):
        db.execute("DELETE FROM anamnesis_live")
        db.execute(
            "INSERT INTO anamnesis_live SELECT session_id, count(*) FROM observations WHERE deleted_at IS NULL"
            " GROUP BY session_id"
        )
    if ("sync_mutations", "project") in made:
        db.execute(
            "UPDATE sync_mutations SET project = coalesce(json_extract(payload, '$.project'), '')"
            " WHERE json_valid(payload)"
        )
    if _is_unfinished(db):
        for backfill in _BACKFILLS:
            db.execute(backfill)


def _index_all_words(db: sqlite3.Connection, made: set[str]) -> None:
    """Index rows anew that were written while an index or a trigger of it was not there.

    Engram leaves out the deleted ones when it makes the index anew. Changing such a row would fail.
    """
    for table, index, triggers in _WORDS:
        (complete,) = db.execute(
            f"SELECT (SELECT count(*) FROM {table}) = (SELECT count(*) FROM {index}_docsize)"
        ).fetchone()
        if not complete or made & {index, *(f"{triggers}_{event}" for event in ("insert", "delete", "update"))}:
            db.execute(f"INSERT INTO {index}({index}) VALUES ('rebuild')")
