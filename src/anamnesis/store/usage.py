"""The use of notes: recorded by every surface, never synced, untouched by a rebuild of the index.

Every use is a line in usage.jsonl (`recording`), and `take_in` counts the lines in usage.db. Searches do not wait for
that: it is done by daemons, by servers when they end, by syncs, dreams and `anamnesis show`.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from anamnesis.disk import try_lock
from anamnesis.errors import StoreUnavailable
from anamnesis.store.machine_database import DAMAGED, MachineDatabase
from anamnesis.store.recording import LINES
from anamnesis.store.strength import KINDS, Kind, Use
from anamnesis.store.tombstones import purged_ids

# Beyond these numbers, the oldest events and the least recently used notes are forgotten.
_MOST_EVENTS = 50_000
_MOST_NOTES = 100_000
# Bytes of lines that are counted in one transaction, for which another writer waits some 20 ms.
_SLICE = 4_096
# Attempts, a millisecond apart, to lock a file of lines that another process appends to.
_TRIES = 50
_DAY = 86_400


class Totals(NamedTuple):
    """The use of a note, and the number of its uses by kind."""

    use: Use
    counts: dict[Kind, int]


class UseEvent(NamedTuple):
    """The use of a note by a session on a day, with its last time."""

    at: int
    kind: Kind
    session: str


class _Line(NamedTuple):
    at: int
    session: str
    kind: Kind
    ids: tuple[str, ...]


class Usage(MachineDatabase):
    """The usage.db of a store."""

    schema = Path(__file__).with_name("usage.sql")
    holds = "The record of use"

    def __init__(self, root: Path) -> None:
        super().__init__(root / "usage.db")
        self._root = root
        self._lines = root / LINES

    def of(self, ids: Iterable[str]) -> dict[str, Totals]:
        """The totals of those of the notes that were used, as of the last `take_in`."""
        query = "SELECT * FROM notes WHERE note_id IN (SELECT value FROM json_each(:ids))"
        found = self.read(lambda db: _rows(db, query, {"ids": json.dumps([*ids])}))
        return dict(map(_totals, found or ()))

    def uses(self, ids: Iterable[str]) -> dict[str, Use]:
        """The uses of those of the notes that were used, without the counts by kind; for a search."""
        query = (
            "SELECT note_id, last, uses, sessions, stability FROM notes"
            " WHERE note_id IN (SELECT value FROM json_each(:ids)) AND uses"
        )
        rows = self.read(lambda db: db.execute(query, {"ids": json.dumps([*ids])}).fetchall())
        return {id: Use(*use) for id, *use in rows or ()}

    def every(self) -> dict[str, Totals]:
        """The totals of every note that was used."""
        return dict(map(_totals, self.read(lambda db: _rows(db, "SELECT * FROM notes", {})) or ()))

    def events(self, note_id: str) -> list[UseEvent]:
        """The latest events of a note, the newest first."""
        query = "SELECT at, kind, session FROM events WHERE note_id = ? ORDER BY at DESC, kind, session"
        return [UseEvent(*row) for row in self.read(lambda db: db.execute(query, (note_id,)).fetchall()) or ()]

    def latest(self, kinds: Iterable[Kind], most: int) -> list[tuple[str, UseEvent]]:
        """The last events of these kinds with the ids of their notes, the newest first."""
        query = (
            "SELECT note_id, at, kind, session FROM events WHERE kind IN (SELECT value FROM json_each(:kinds))"
            " ORDER BY at DESC LIMIT :most"
        )
        found = self.read(lambda db: db.execute(query, {"kinds": json.dumps([*kinds]), "most": most}).fetchall())
        return [(id, UseEvent(*event)) for id, *event in found or ()]

    def of_session(self, session_hash: str) -> list[tuple[str, UseEvent]]:
        """The events of a session, given by its hash, with the ids of their notes."""
        query = "SELECT note_id, at, kind, session FROM events WHERE session = ? ORDER BY at, note_id, kind"
        found = self.read(lambda db: db.execute(query, (session_hash,)).fetchall())
        return [(id, UseEvent(*event)) for id, *event in found or ()]

    def by_day(self, since: int) -> dict[int, int]:
        """How many events there were on each day since a time; days are counted from 1970."""
        query = f"SELECT at / {_DAY}, count(*) FROM events WHERE at >= ? GROUP BY 1"
        return dict(self.read(lambda db: db.execute(query, (since,)).fetchall()) or ())

    def take_in(self) -> int:
        """Count the recorded lines; returns how many. Each is counted once, even if a process is killed.

        A file that cannot be counted now stays, and then no further file is begun, so that the record is bounded.
        """
        try:
            count = sum(map(self._take, self._left()))
            if self._lines.exists() and not self._left():
                # Under a unique name: another process may be reading the file that it has moved.
                moved = self._lines.with_name(f"{LINES}.{os.urandom(4).hex()}")
                os.replace(self._lines, moved)
                count += self._take(moved)
            if count:
                self.change(_prune)
        except (OSError, StoreUnavailable):
            return 0
        return count

    def forget(self, ids: Iterable[str]) -> None:
        """Remove everything about purged notes."""
        from anamnesis.erasure import overwriting

        self.path.with_name(self.path.name + DAMAGED).unlink(missing_ok=True)
        self.take_in()
        if self.path.exists():
            wanted = [(id,) for id in ids]

            def forget(db: sqlite3.Connection) -> None:
                with overwriting(db):
                    for table in ("notes", "events"):
                        db.executemany(f"DELETE FROM {table} WHERE note_id = ?", wanted)

            self.change(forget)

    def _left(self) -> list[Path]:
        """The files that were moved and not removed: a process is reading them, or was killed."""
        return sorted(self._root.glob(f"{LINES}.*"))

    def _take(self, path: Path) -> int:
        """Count the lines of a moved file, and remove it; 0 if another process does that."""
        count = 0
        with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
            if not _locked(file.fileno()) or not os.fstat(file.fileno()).st_nlink:
                return 0
            purged = purged_ids(self._root)
            position = self._position(path.name)
            file.seek(position)
            while lines := file.readlines(_SLICE):
                position += sum(map(len, lines))
                uses = sorted(_uses(lines, purged))
                self.change(partial(_save, uses=uses, name=path.name, position=position))
                count += len(uses)
            path.unlink(missing_ok=True)
        return count

    def _position(self, name: str) -> int:
        """The position up to which a file is counted. Also removes the positions of files that are gone."""

        def position(db: sqlite3.Connection) -> int:
            known = dict(db.execute("SELECT name, position FROM taken").fetchall())
            gone = [(other,) for other in known if not (self._root / other).exists()]
            db.executemany("DELETE FROM taken WHERE name = ?", gone)
            return int(known.get(name, 0))

        return self.change(position)


def _locked(file: int) -> bool:
    for _ in range(_TRIES):
        if try_lock(file):
            return True
        time.sleep(0.001)
    return False


def _uses(lines: Iterable[bytes], purged: set[str]) -> Iterator[_Line]:
    """The uses that lines record, without purged notes; truncated and foreign lines are skipped."""
    now = int(time.time())
    for line in lines:
        try:
            use: dict[str, Any] = json.loads(line)
            at, session, kind, ids = int(use["at"]), use["session"], use["kind"], use["ids"]
        except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
            continue
        if kind in KINDS and isinstance(session, str) and isinstance(ids, list):
            some = tuple(id for id in ids if isinstance(id, str) and id not in purged)
            yield _Line(max(0, min(at, now)), session, kind, some)  # a clock may have been wrong


def _save(db: sqlite3.Connection, uses: Sequence[_Line], name: str, position: int) -> None:
    for at, session, kind, ids in uses:
        for id in ids:
            _save_one(db, {"id": id, "session": session, "kind": kind, "day": at // _DAY, "at": at})
    db.execute("INSERT OR REPLACE INTO taken VALUES (?, ?)", (name, position))


def _save_one(db: sqlite3.Connection, event: dict[str, Any]) -> None:
    kind: Kind = event["kind"]
    query = "SELECT 1 FROM events WHERE note_id = :id AND session = :session AND kind NOT IN ('injected', 'superseded')"
    is_known = db.execute(query, event).fetchone()
    is_new = db.execute("INSERT OR IGNORE INTO events VALUES (:id, :session, :kind, :day, :at)", event).rowcount
    db.execute("INSERT OR IGNORE INTO notes (note_id) VALUES (:id)", event)
    row = db.execute("SELECT last, uses, sessions, stability FROM notes WHERE note_id = :id", event).fetchone()
    if is_new:
        use = Use(*row).after(kind, event["at"], in_new_session=not is_known)
    else:
        use = Use(*row).again(kind, event["at"])
        key = "note_id = :id AND session = :session AND kind = :kind AND day = :day"
        db.execute(f"UPDATE events SET at = max(at, :at) WHERE {key}", event)
    db.execute(
        f"UPDATE notes SET {kind} = {kind} + :more, last = :last, uses = :uses, sessions = :sessions,"
        " stability = :stability WHERE note_id = :id",
        {"id": event["id"], "more": is_new, **use._asdict()},
    )


def _prune(db: sqlite3.Connection) -> None:
    for table, column, most in (("events", "at", _MOST_EVENTS), ("notes", "last", _MOST_NOTES)):
        oldest = f"SELECT {column} FROM {table} ORDER BY {column} DESC LIMIT 1 OFFSET :most"
        # Notes that were only injected have the time 0.
        db.execute(f"DELETE FROM {table} WHERE {column} < max(({oldest}), 1)", {"most": most})


def _rows(db: sqlite3.Connection, query: str, values: dict[str, Any]) -> list[dict[str, Any]]:
    found = db.execute(query, values)
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found]


def _totals(row: dict[str, Any]) -> tuple[str, Totals]:
    use = Use(row["last"], row["uses"], row["sessions"], row["stability"])
    return row["note_id"], Totals(use, {kind: row[kind] for kind in KINDS if row[kind]})
