"""shared.db: the local notes of shared spaces of a hub, the members who wrote them, and the user's acceptance.

None of this can be in the text of a note: its author could forge it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from anamnesis.store.machine_database import MachineDatabase


class Shared(NamedTuple):
    """A note of a shared space; `author` is the last other member who wrote it, "" if none."""

    note: str
    space: str
    author: str = ""
    is_accepted: bool = False
    is_closed: bool = False

    @property
    def is_own(self) -> bool:
        """Whether dreams of the user's machines may change it: nobody else wrote it, and the space is writable."""
        return not self.author and not self.is_closed


class SharedNotes(MachineDatabase):
    """The shared.db of a store."""

    schema = Path(__file__).with_name("shared.sql")
    holds = "The record of shared notes"

    def __init__(self, root: Path) -> None:
        super().__init__(root / "shared.db")

    def record(self, notes: Iterable[Shared]) -> None:
        """Save the spaces and authors of notes; a new text of another member resets the acceptance."""
        rows = [(each.note, each.space, each.author) for each in notes]
        query = (
            "INSERT INTO shared (note, space, author) VALUES (?, ?, ?)"
            " ON CONFLICT DO UPDATE SET space = excluded.space, is_accepted = is_accepted AND excluded.author = '',"
            " author = CASE excluded.author WHEN '' THEN author ELSE excluded.author END"
        )
        self._execute(query, rows)

    def forget_own(self, notes: Iterable[str]) -> None:
        """Forget notes that left their shared space, except those written by another member."""
        if self.path.exists():
            self._execute("DELETE FROM shared WHERE note = ? AND author = ''", [(note,) for note in notes])

    def close_spaces(self, spaces: Collection[str]) -> None:
        """Replace the list of spaces that the user may not write to."""
        now = {name for (name,) in self.read(lambda db: db.execute("SELECT space FROM closed").fetchall()) or ()}

        def change(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM closed")
            db.executemany("INSERT INTO closed VALUES (?)", [(name,) for name in spaces])

        if now != {*spaces}:
            self.change(change)

    def of(self, notes: Iterable[str]) -> dict[str, Shared]:
        """The shared ones of these notes."""
        query = (
            "SELECT note, space, author, is_accepted, space IN (SELECT space FROM closed) FROM shared"
            " WHERE note IN (SELECT value FROM json_each(:notes))"
        )
        return {each.note: each for each in self._select(query, notes=json.dumps([*notes]))}

    def may_tidy(self, notes: Collection[str]) -> bool:
        """Whether dreams may change these notes together: all are the user's own, and in the same space or in none.

        So the machines of two members never make different changes to a note, and no text of one space gets into
        another.
        """
        found = self.of(notes)
        spaces = {found[note].space if note in found else "" for note in notes}
        return len(spaces) <= 1 and all(each.is_own for each in found.values())

    def unaccepted(self) -> dict[str, Shared]:
        """The notes of other members that the user has not accepted."""
        query = "SELECT note, space, author, is_accepted, 0 FROM shared WHERE author != '' AND NOT is_accepted"
        return {each.note: each for each in self._select(query)}

    def accept(self, notes: Iterable[str], *, is_accepted: bool = True) -> None:
        if self.path.exists():
            self._execute("UPDATE shared SET is_accepted = ? WHERE note = ?", [(is_accepted, note) for note in notes])

    def _execute(self, query: str, rows: Sequence[tuple[object, ...]]) -> None:
        if rows:
            self.change(lambda db: db.executemany(query, rows))

    def _select(self, query: str, **given: str) -> list[Shared]:
        rows = self.read(lambda db: db.execute(query, given).fetchall()) or ()
        return [
            Shared(note, space, author, bool(accepted), bool(closed)) for note, space, author, accepted, closed in rows
        ]
