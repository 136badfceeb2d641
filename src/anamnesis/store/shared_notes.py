"""shared.db: which notes here are of shared spaces of a hub, who else has written them, and what the user has accepted.

The text of a note does not say who wrote it, and a tag that accepts it could be set by its author.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from anamnesis.store.machine_database import MachineDatabase


class Shared(NamedTuple):
    """A note of a shared space; `author` is the other member who wrote it last, "" if none did."""

    note: str
    space: str
    author: str = ""
    is_accepted: bool = False
    is_closed: bool = False

    @property
    def is_own(self) -> bool:
        """Whether the user's machines may tidy it: nobody else wrote it, and the user may write in its space."""
        return not self.author and not self.is_closed


class SharedNotes(MachineDatabase):
    """The shared.db of a store."""

    schema = Path(__file__).with_name("shared.sql")
    holds = "What is known of shared notes"

    def __init__(self, root: Path) -> None:
        super().__init__(root / "shared.db")

    def record(self, notes: Iterable[Shared]) -> None:
        """Record the spaces and authors of notes; what another member wrote has to be accepted anew."""
        rows = [(each.note, each.space, each.author) for each in notes]
        query = (
            "INSERT INTO shared (note, space, author) VALUES (?, ?, ?)"
            " ON CONFLICT DO UPDATE SET space = excluded.space, is_accepted = is_accepted AND excluded.author = '',"
            " author = CASE excluded.author WHEN '' THEN author ELSE excluded.author END"
        )
        self._execute(query, rows)

    def forget_own(self, notes: Iterable[str]) -> None:
        """Forget notes that left their shared space, except those that another member wrote."""
        if self.path.exists():
            self._execute("DELETE FROM shared WHERE note = ? AND author = ''", [(note,) for note in notes])

    def close_spaces(self, spaces: Collection[str]) -> None:
        """Record which spaces the user may not write in."""
        now = {name for (name,) in self.read(lambda db: db.execute("SELECT space FROM closed").fetchall()) or ()}

        def change(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM closed")
            db.executemany("INSERT INTO closed VALUES (?)", [(name,) for name in spaces])

        if now != {*spaces}:
            self.change(change)

    def of(self, notes: Iterable[str]) -> dict[str, Shared]:
        """Those of the notes that are shared."""
        query = (
            "SELECT note, space, author, is_accepted, space IN (SELECT space FROM closed) FROM shared"
            " WHERE note IN (SELECT value FROM json_each(:notes))"
        )
        return {each.note: each for each in self._found(query, notes=json.dumps([*notes]))}

    def may_tidy(self, notes: Collection[str]) -> bool:
        """Whether dreams may change these notes together: nobody else's, and all of one space, or all of none.

        Each note is left to the machines of one member, so that no two members' machines make different changes; and
        the text of one space does not get into another.
        """
        found = self.of(notes)
        spaces = {found[note].space if note in found else "" for note in notes}
        return len(spaces) <= 1 and all(each.is_own for each in found.values())

    def unaccepted(self) -> dict[str, Shared]:
        """The notes that another member wrote and the user has not accepted."""
        query = "SELECT note, space, author, is_accepted, 0 FROM shared WHERE author != '' AND NOT is_accepted"
        return {each.note: each for each in self._found(query)}

    def accept(self, notes: Iterable[str], *, is_accepted: bool = True) -> None:
        if self.path.exists():
            self._execute("UPDATE shared SET is_accepted = ? WHERE note = ?", [(is_accepted, note) for note in notes])

    def _execute(self, query: str, rows: Sequence[tuple[object, ...]]) -> None:
        if rows:
            self.change(lambda db: db.executemany(query, rows))

    def _found(self, query: str, **given: str) -> list[Shared]:
        rows = self.read(lambda db: db.execute(query, given).fetchall()) or ()
        return [
            Shared(note, space, author, bool(accepted), bool(closed)) for note, space, author, accepted, closed in rows
        ]
