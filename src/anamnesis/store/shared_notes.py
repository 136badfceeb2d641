"""shared.db: the local notes of shared spaces of a hub, the members who wrote them, and the projects of the spaces.

None of this can be in the text of a note: its author could forge it. Where the file is lost, the authors of all notes
of shared spaces are unknown, until an exchange asks the hub for them.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from anamnesis.notes.acceptance import Text
from anamnesis.notes.project_names import is_among
from anamnesis.readonly import read_only_uri
from anamnesis.store.machine_database import MachineDatabase, schema_version

# The record of the exchange with the hub, which knows the space of each note, but not its authors.
EXCHANGED = "hub.db"
_OF_SHARED_SPACES = (
    "SELECT DISTINCT note, space FROM agreed JOIN spaces USING (account)"
    " WHERE spaces.name = agreed.space AND NOT is_personal AND is_here AND hash IS NOT NULL"
)


# The author of a note of a shared space whose authors are not known here.
UNKNOWN = "?"


class Shared(NamedTuple):
    """A note of a shared space; `author` is the last other member who wrote it, "" if none."""

    note: str
    space: str
    author: str = ""
    is_closed: bool = False

    @property
    def is_own(self) -> bool:
        """Whether dreams of the user's machines may change it: nobody else wrote it, and the space is writable."""
        return not self.author and not self.is_closed


class SharedNotes(MachineDatabase):
    """The shared.db of a store."""

    schema = Path(__file__).with_name("shared.sql")
    version = 3
    holds = "The record of shared notes"

    def __init__(self, root: Path) -> None:
        super().__init__(root / "shared.db")

    def _create(self, db: sqlite3.Connection) -> None:
        is_new = not schema_version(db)
        super()._create(db)
        if not is_new:
            return
        rows = [(each.note, each.space, UNKNOWN) for each in self._exchanged()]
        db.executemany("INSERT OR IGNORE INTO shared (note, space, author) VALUES (?, ?, ?)", rows)

    def record(self, notes: Iterable[Shared]) -> None:
        """Save the spaces and authors of notes."""
        rows = [(each.note, each.space, each.author) for each in notes]
        query = (
            "INSERT INTO shared (note, space, author) VALUES (?, ?, ?)"
            " ON CONFLICT DO UPDATE SET space = excluded.space, is_accepted = 0, author ="
            f" CASE WHEN excluded.author = '' AND author != '{UNKNOWN}' THEN author ELSE excluded.author END"
        )
        self._execute(query, rows)

    def record_writers(self, texts: Mapping[Text, str]) -> None:
        """Save who wrote these texts."""
        query = "INSERT OR REPLACE INTO writers (note, digest, author) VALUES (?, ?, ?)"
        self._execute(query, [(*text, author) for text, author in texts.items()])

    def writers(self, *notes: str) -> dict[str, str]:
        """Who wrote the texts of these notes, by their digests."""
        query = "SELECT digest, author FROM writers WHERE note IN (SELECT value FROM json_each(:notes))"
        return dict(self.read(lambda db: db.execute(query, {"notes": json.dumps(notes)}).fetchall()) or ())

    def forget(self, notes: Collection[str]) -> None:
        """Forget the writers of purged notes."""
        if self.path.exists():
            self._execute("DELETE FROM writers WHERE note = ?", [(note,) for note in notes])

    def doubt(self, notes: Collection[str]) -> None:
        """Record that the authors of the present texts of these notes are unknown, if they are shared and were the
        user's own: git has brought the texts, and may have them from another member."""
        if self.path.exists():
            query = f"UPDATE shared SET author = '{UNKNOWN}' WHERE note = ? AND author = ''"
            self._execute(query, [(note,) for note in notes])

    def doubt_all(self) -> None:
        """Record that the authors of all notes of shared spaces are unknown: to another user of this home, other ones
        are the user's own."""
        if self.path.exists():
            self.change(lambda db: db.execute(f"UPDATE shared SET author = '{UNKNOWN}' WHERE space NOT LIKE '~%'"))

    def forget_own(self, notes: Iterable[str]) -> None:
        """Forget notes that left their shared space, except those written by another member."""
        if self.path.exists():
            self._execute("DELETE FROM shared WHERE note = ? AND author = ''", [(note,) for note in notes])

    def forget_personal(self, notes: Iterable[str]) -> None:
        """Forget that notes are of the own space of another user of this home."""
        if self.path.exists():
            self._execute("DELETE FROM shared WHERE note = ? AND space LIKE '~%'", [(note,) for note in notes])

    def forget_space(self, space: str) -> None:
        """Forget the notes of a space."""
        if self.path.exists():
            self._execute("DELETE FROM shared WHERE space = ?", [(space,)])

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
            "SELECT note, space, author, space IN (SELECT space FROM closed) FROM shared"
            " WHERE note IN (SELECT value FROM json_each(:notes))"
        )
        wanted = [*notes]
        found = self._select(query, notes=json.dumps(wanted))
        return {note: found[note] for note in wanted if note in found}

    def may_tidy(self, notes: Collection[str]) -> bool:
        """Whether dreams may change these notes together: all are the user's own, and in the same space or in none.

        So the machines of two members never make different changes to a note, and no text of one space gets into
        another.
        """
        found = self.of(notes)
        spaces = {found[note].space if note in found else "" for note in notes}
        return len(spaces) <= 1 and all(each.is_own for each in found.values())

    def by_others(self) -> dict[str, Shared]:
        """The notes of other members, and those whose authors are unknown."""
        return self._select("SELECT note, space, author, 0 FROM shared WHERE author != ''")

    def unknown(self) -> list[Shared]:
        """The notes whose authors are unknown. Creates the record if it was lost."""
        query = "SELECT note, space, author, 0 FROM shared WHERE author = ?"
        return [Shared(*row) for row in self.change(lambda db: db.execute(query, (UNKNOWN,)).fetchall())]

    def accepted(self) -> set[str]:
        """The notes of other members that the user accepted in an earlier release, which recorded it here."""
        rows = self.read(lambda db: db.execute("SELECT note FROM shared WHERE is_accepted AND author != ''").fetchall())
        return {note for (note,) in rows or ()}

    def projects(self) -> dict[str, set[str]]:
        """The projects that belong to each space, as of the last exchange."""
        found: dict[str, set[str]] = {}
        for space, project in self.read(lambda db: db.execute("SELECT space, project FROM projects").fetchall()) or ():
            found.setdefault(space, set()).add(project)
        return found

    def spaces_for(self, project: str) -> list[str]:
        """The shared spaces that the project belongs to and that the user may write to, as of the last exchange."""
        query = "SELECT space, project FROM projects WHERE space NOT IN (SELECT space FROM closed)"
        rows = self.read(lambda db: db.execute(query).fetchall()) or ()
        return sorted({space for space, name in rows if is_among(project, [name])})

    def save_projects(self, projects: Mapping[str, Collection[str]]) -> None:
        """Replace the list of the projects of all spaces."""
        rows = {(space, project) for space, some in projects.items() for project in some}

        def change(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM projects")
            db.executemany("INSERT INTO projects VALUES (?, ?)", rows)

        if rows != {(space, each) for space, some in self.projects().items() for each in some}:
            self.change(change)

    def _exchanged(self) -> list[Shared]:
        """The notes of shared spaces according to the exchange with the hub, whose record is another file."""
        path = self.path.with_name(EXCHANGED)
        try:
            with contextlib.closing(sqlite3.connect(read_only_uri(path), uri=True)) as db:
                return [Shared(note, space, UNKNOWN) for note, space in db.execute(_OF_SHARED_SPACES)]
        except sqlite3.DatabaseError:
            return []

    def _execute(self, query: str, rows: Sequence[tuple[object, ...]]) -> None:
        if rows:
            self.change(lambda db: db.executemany(query, rows))

    def _select(self, query: str, **given: str) -> dict[str, Shared]:
        rows = self.read(lambda db: db.execute(query, given).fetchall())
        if rows is None:
            return {each.note: each for each in self._exchanged()}
        return {note: Shared(note, space, author, bool(closed)) for note, space, author, closed in rows}
