"""The tables of engram.db, created or completed as Engram does at every start. Knows no files or transactions."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from anamnesis.errors import StoreUnavailable

_OWN = Path(__file__).with_name("schema.sql")
# The columns that even the oldest supported version has.
_FIRST_COLUMNS = ("id", "session_id", "type", "title", "content", "tool_name", "project", "created_at")
_MADE = re.compile(r"CREATE (?:VIRTUAL )?(?:TABLE|INDEX|TRIGGER) (\w+)|ALTER TABLE (\w+) ADD COLUMN (\w+)")
# The indexed tables, their word indexes, and the triggers that maintain these.
_WORDS = tuple(
    (table, index, tuple(f"{prefix}_{event}" for event in ("insert", "delete", "update")))
    for table, index, prefix in (
        ("observations", "observations_fts", "obs_fts"),
        ("user_prompts", "prompts_fts", "prompt_fts"),
    )
)
# The table and the triggers that count the observations of sessions.
_ACTIVITY = {"anamnesis_sessions", *(f"anamnesis_sessions_{event}" for event in ("insert", "delete", "update"))}

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

_Made = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Statement:
    """A statement of the schema, and the object or column that it creates."""

    made: _Made
    sql: str


def refuse_older(db: sqlite3.Connection, path: Path) -> None:
    """Refuse tables that only Engram itself can migrate."""
    shape = _shape(db)
    if ("observations", "") not in shape:
        return
    key = db.execute("SELECT name FROM pragma_table_info('observations') WHERE pk = 1").fetchone()
    if key != ("id",) or not shape.issuperset(("observations", column) for column in _FIRST_COLUMNS):
        raise StoreUnavailable(
            f"{path} has the tables of a very old Engram, and nothing in it was changed.",
            "Run engram once to migrate first, then try again.",
        )


def is_complete(db: sqlite3.Connection) -> bool:
    """Whether nothing has to be created or backfilled. Takes constant time."""
    return is_made(db, _OWN) and not is_unfinished(db)


def is_unfinished(db: sqlite3.Connection) -> bool:
    """Whether a backfill has rows to change. Engram leaves such rows too, e.g. a prompt without a project."""
    (unfinished,) = db.execute(
        f"SELECT EXISTS (SELECT 1 FROM observations WHERE {_UNFINISHED})"
        " OR EXISTS (SELECT 1 FROM user_prompts WHERE project IS NULL)"
        " OR EXISTS (SELECT 1 FROM user_prompts WHERE sync_id IS NULL)"
        " OR EXISTS (SELECT 1 FROM user_prompts WHERE sync_id = '')"
        " OR NOT EXISTS (SELECT 1 FROM sync_state WHERE target_key = 'cloud')"
    ).fetchone()
    return bool(unfinished)


def complete(db: sqlite3.Connection) -> None:
    """Create what the schema lacks, then run the backfills."""
    _drop_narrow_index(db)
    made = make_missing(db, _OWN)
    names = {name for name, _ in made}
    if names:
        _index_all_words(db, names)
        for _, index, _ in _WORDS:  # merging fewer segments more often would cost a single write a tenth of its time
            db.execute(f"INSERT INTO {index}({index}, rank) VALUES ('automerge', 8)")
    if names & _ACTIVITY:
        db.execute("DELETE FROM anamnesis_sessions")
        db.execute(
            "INSERT INTO anamnesis_sessions SELECT session_id, count(*), max(created_at) FROM observations"
            " WHERE deleted_at IS NULL GROUP BY session_id"
        )
    if ("sync_mutations", "project") in made:
        db.execute(
            "UPDATE sync_mutations SET project = coalesce(json_extract(payload, '$.project'), '')"
            " WHERE json_valid(payload)"
        )
    if is_unfinished(db):
        for backfill in _BACKFILLS:
            db.execute(backfill)


def make_missing(db: sqlite3.Connection, path: Path) -> set[_Made]:
    """Run the statements of a file whose objects are missing; returns those objects."""
    return {statement.made for statement in _statements(path) if _run_where_missing(db, statement)}


def remove_additions(db: sqlite3.Connection, kinds: Sequence[str]) -> None:
    """Drop what is ours in engram.db: the triggers, indexes or tables that are named anamnesis_*, in this order."""
    for kind in kinds:
        found = "SELECT name FROM sqlite_master WHERE type = :kind AND name GLOB 'anamnesis_*'"
        for (name,) in db.execute(found, {"kind": kind}).fetchall():
            db.execute(f'DROP {kind} "{name}"')


def is_made(db: sqlite3.Connection, path: Path) -> bool:
    """Whether all objects of a file exist."""
    return _shape(db).issuperset(statement.made for statement in _statements(path))


@cache
def _statements(path: Path) -> tuple[_Statement, ...]:
    found, sql = [], ""
    for line in path.read_text("utf-8").splitlines(keepends=True):
        sql += line
        if sqlite3.complete_statement(sql) and (beginning := _MADE.search(sql)):
            name, table, column = beginning.groups()
            found.append(_Statement((name or table, column or ""), sql[beginning.start() :].rstrip()))
            sql = ""
    return tuple(found)


def _shape(db: sqlite3.Connection) -> set[_Made]:
    """The existing objects, with an empty column, and the columns of tables that may lack some."""
    return set(
        db.execute(
            "SELECT name, '' FROM sqlite_master UNION ALL"
            " SELECT tables.name, columns.name FROM sqlite_master AS tables, pragma_table_xinfo(tables.name) AS columns"
            " WHERE tables.name IN ('observations', 'user_prompts', 'sync_mutations', 'observations_fts')"
        )
    )


def _run_where_missing(db: sqlite3.Connection, statement: _Statement) -> bool:
    if statement.made in _shape(db):
        return False
    db.execute(statement.sql)
    return True


def _drop_narrow_index(db: sqlite3.Connection) -> None:
    """Drop a word index without topic keys, so that it is created again."""
    shape = _shape(db)
    _, index, triggers = _WORDS[0]
    if (index, "") in shape and (index, "topic_key") not in shape:
        for trigger in triggers:
            db.execute(f"DROP TRIGGER IF EXISTS {trigger}")
        db.execute(f"DROP TABLE {index}")


def _index_all_words(db: sqlite3.Connection, made: set[str]) -> None:
    """Rebuild word indexes that were missing, or whose triggers were, while rows were written."""
    for table, index, triggers in _WORDS:
        if made & {index, *triggers} or _lacks_rows(db, table, index, triggers):
            db.execute(f"INSERT INTO {index}({index}) VALUES ('rebuild')")


def _lacks_rows(db: sqlite3.Connection, table: str, index: str, triggers: tuple[str, ...]) -> bool:
    """Whether a word index lacks rows although its triggers are ours, which index every row.

    Engram omits deleted rows when it rebuilds its index, and later changes to them fail.
    """
    ours = {statement.made[0]: " ".join(statement.sql.rstrip(";").split()) for statement in _statements(_OWN)}
    found = dict(db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall())
    if any(" ".join(found[trigger].split()) != ours[trigger] for trigger in triggers):
        return False
    (lacking,) = db.execute(
        f"SELECT (SELECT count(*) FROM {table}) <> (SELECT count(*) FROM {index}_docsize)"
    ).fetchone()
    return bool(lacking)
