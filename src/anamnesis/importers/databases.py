"""Reads other programs' SQLite databases while these programs run. No lock is held while notes are written."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from anamnesis.importers.foreign_record import Unreadable

_PAGE = 500
_BUSY_SECONDS = 5.0
_WAL, _FORMAT_AT = 2, 18

Row = dict[str, Any]


@contextmanager
def open_read_only(path: Path) -> Iterator[sqlite3.Connection]:
    """A read-only connection.

    Each read locks the database, as its owner expects. Only a database in WAL mode that nobody has open is read as
    immutable: otherwise SQLite would create its log.
    """
    with closing(_connected(path)) as db:
        db.row_factory = sqlite3.Row
        db.text_factory = lambda data: data.decode("utf-8", "replace")
        yield db


def _connected(path: Path) -> sqlite3.Connection:
    plain = f"{path.absolute().as_uri()}?mode=ro"
    with path.open("rb") as file:
        is_logged = file.read(_FORMAT_AT + 1)[_FORMAT_AT:] == bytes([_WAL])
    # A program that has it open has a WAL, even an empty one, and may checkpoint it at any time.
    has_owner = path.with_name(f"{path.name}-wal").exists()
    for uri in (f"{plain}&{'readonly_shm=1' if has_owner else 'immutable=1'}", plain) if is_logged else (plain,):
        db = sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS)
        try:
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return db
        except sqlite3.Error:
            db.close()
            if uri == plain:
                raise
    raise AssertionError


def tables_of(db: sqlite3.Connection) -> set[str]:
    return {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def rows_of(db: sqlite3.Connection, table: str) -> Iterator[Row | Unreadable]:
    """The rows of a table with all its stored columns, in pages; no lock is held between pages.

    A column that SQLite would compute is left out: in a crafted file that could take any time and memory.
    """
    name, last = _quoted(table), -(2**63)
    while True:
        try:
            # `hidden` is 2 for a virtual column and 1 for one of a virtual table.
            listed = db.execute("SELECT name FROM pragma_table_xinfo(?) WHERE hidden NOT IN (1, 2)", (table,))
            columns = ", ".join(['rowid AS "rowid of it"', *(_quoted(column) for (column,) in listed)])
            query = f"SELECT {columns} FROM {name} WHERE rowid >= ? ORDER BY rowid LIMIT ?"
            page = db.execute(query, (last, _PAGE)).fetchall()
        except sqlite3.Error as error:
            yield Unreadable(f"the table {table}", f"{error}; the rows after {last:,} are not read.")
            return
        for row in page:
            yield dict(zip(row.keys()[1:], tuple(row)[1:], strict=True))
        if len(page) < _PAGE:
            return
        last = page[-1][0] + 1


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
