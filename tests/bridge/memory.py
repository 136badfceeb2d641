"""A home with notes and an engram.db, and what has to hold of the two when they are in step."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from anamnesis.bridge import journal
from anamnesis.bridge.bridge import Bridge
from anamnesis.bridge.journal import Twin
from anamnesis.bridge.mapping import fitting, note_id_of, note_type, observed, owns
from anamnesis.engram import observations
from anamnesis.engram.database import connect
from anamnesis.engram.observations import NewObservation
from anamnesis.engram.record import Observation
from anamnesis.engram.shared import Shared
from anamnesis.errors import InvalidNote
from anamnesis.notes import Memory, derived_id, parse
from anamnesis.store import MemoryStore
from anamnesis.vault import Vault

State = tuple[dict[str, bytes], dict[str, list[tuple[object, ...]]]]
_DERIVED = ("observations_fts", "prompts_fts", "sqlite_", "anamnesis_met")


def files_in(root: Path) -> dict[str, bytes]:
    """The files of notes, also those in the trash, with what is in them."""
    folders = (root / name for name in ("memory", "local", "trash"))
    return {path.relative_to(root).as_posix(): path.read_bytes() for folder in folders for path in folder.rglob("*.md")}


def tables_of(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table, byte for byte."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        found = {}
        for name in names:
            if not name.startswith(_DERIVED):
                columns = [column for (column,) in db.execute("SELECT name FROM pragma_table_info(?)", (name,))]
                cells = ", ".join(f"typeof({column}), CAST({column} AS BLOB)" for column in columns)
                found[name] = db.execute(f"SELECT {cells} FROM {name} ORDER BY 2").fetchall()
        return found


def state(root: Path, path: Path) -> State:
    return files_in(root), tables_of(path)


def observations_of(db: sqlite3.Connection) -> dict[int, Observation]:
    return journal.observations(db, [id for (id,) in db.execute("SELECT id FROM observations")])


def sync_id_in(db: sqlite3.Connection, twin: Twin) -> object:
    return db.execute("SELECT sync_id FROM observations WHERE id = ?", (twin.observation_id,)).fetchone()[0]


def ids_in(root: Path) -> set[str]:
    """The ids of the notes in the files, read without the store."""
    found = set()
    for path, data in files_in(root).items():
        if not path.startswith("trash/"):
            with contextlib.suppress(InvalidNote, UnicodeDecodeError):
                found.add(parse(data.decode()).id)
    return found


def assert_twins(store: MemoryStore, db: sqlite3.Connection, unreadable: Collection[str] = ()) -> None:
    """Each live observation is one visible note, field by field, and each visible note one live observation."""
    rows = observations_of(db)
    files = store.files(ids_in(store.root))
    notes = {id: file.memory for id, file in files.items() if file.memory}
    twins = {twin.note_id: twin for twin in journal.twins(db, of_rows=rows)}
    numbers = {twin.observation_id: twin.note_id for twin in twins.values()}
    assert len(twins) == len(numbers)
    for note_id, note in notes.items():
        row = rows.get(twins[note_id].observation_id) if note_id in twins else None
        if row is None:
            assert note.is_hidden, f"{note_id} has no observation"
        else:
            assert bool(row.deleted_at) == note.is_hidden, (note, row)
            assert observed(note, row, fitting) == row
            assert owns(note_id, row.sync_id), (note, row)
            assert note_type(str(note.engram.get("type", note.type))) == note.type, note
    for row in rows.values():
        note_id = numbers.get(row.id, "")
        own = note_id or note_id_of(row.sync_id, row.created_at)
        if not row.deleted_at and own not in unreadable:
            assert note_id in notes, f"no note for {row}"
            assert not notes[note_id].is_hidden
    assert store.count() == sum(not note.is_hidden for note in notes.values())
    if unreadable:
        return  # whom a broken note supersedes is not known
    superseded = dict(db.execute("SELECT id, superseded_by FROM observations WHERE superseded_by IS NOT NULL"))
    superseding = store.superseding(twins)
    assert superseded == {twins[id].observation_id: sync_id_in(db, twins[by]) for id, by in superseding.items()}


def assert_settled(store: MemoryStore, db: sqlite3.Connection, unreadable: Collection[str] = ()) -> None:
    """Nothing waits but for what is in a file that cannot be read."""
    waiting = journal.changed(db)
    known = {twin.observation_id: twin.note_id for twin in journal.twins(db, of_rows=waiting)}
    assert {*waiting} <= observations_of(db).keys() | known.keys()
    assert store.log.count("bridge") == 0
    for id, row in journal.observations(db, waiting).items():
        assert known.get(id) in unreadable or note_id_of(row.sync_id, row.created_at) in unreadable, row


def purged_in(db: sqlite3.Connection) -> set[str]:
    """The ids that the notes of observations have which have been removed, and which are to be purged."""
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    condition = "observation_id NOT IN (SELECT id FROM observations)"
    found = set()
    if "anamnesis_twins" in tables:
        found |= {id for (id,) in db.execute(f"SELECT note_id FROM anamnesis_twins WHERE {condition}")}
    if "anamnesis_revisions" in tables:
        for (id,) in db.execute(
            f"SELECT DISTINCT observation_id FROM anamnesis_revisions WHERE {condition}"
        ).fetchall():
            for each in journal.revisions(db, id):
                row = each.observation
                found |= {note_id_of(row.sync_id, row.created_at), derived_id(row.created_at, f"{row.sync_id} {id}")}
    return found


def texts_in(root: Path, path: Path) -> bytes:
    """Everything that is kept anywhere, but for what was deleted for good: notes, trash, observations, revisions."""
    with contextlib.closing(connect(path)) as db:
        gone = purged_in(db)
        lines = [f"\nid: {id}\n".encode() for name in gone for id in (name, f"'{name}'")]  # quoted if all are digits
        kept = [data for data in files_in(root).values() if not any(line in data for line in lines)]
        for table in ("observations", "anamnesis_revisions"):
            if db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
                id = "id" if table == "observations" else "observation_id"
                rows = db.execute(
                    f"SELECT CAST(title AS BLOB), CAST(content AS BLOB) FROM {table}"
                    f" WHERE {id} IN (SELECT id FROM observations)"
                )
                kept += [data for row in rows for data in row]
    return b"\n".join(kept)


def connected(root: Path, engram: Path | Shared, machine_id: str = "here") -> Vault:
    """A vault whose bridge is open, or else the reason why not is raised."""
    vault = Vault(root, engram if isinstance(engram, Path) else engram.path)
    vault.connect(engram, machine_id)
    return vault


@dataclass
class Two:
    """A memory of two sides."""

    store: MemoryStore
    path: Path
    db: sqlite3.Connection
    bridge: Bridge

    def agree(self, *unreadable: str) -> None:
        """Take everything over: both sides say the same, and doing it again changes nothing."""
        self.store.refresh()
        self.bridge.reconcile()
        assert_settled(self.store, self.db, unreadable)
        assert_twins(self.store, self.db, unreadable)
        before = state(self.store.root, self.path)
        self.bridge.reconcile()
        assert state(self.store.root, self.path) == before

    def reopen(self) -> None:
        self.bridge.close()
        self.bridge = Bridge(self.store, self.path, "here")

    def add(self, title: str = "Title", content: str = "content", **fields: str) -> int:
        return observations.add(self.db, NewObservation("s1", title, content, **fields)).id

    def row(self, id: int) -> Observation:
        return observations_of(self.db)[id]

    def rows(self) -> list[Observation]:
        return [*observations_of(self.db).values()]

    def file_of(self, title: str) -> Path:
        [found] = [
            path
            for path in (self.store.root / "memory").rglob("*.md")
            if f"\ntitle: {title}\n" in path.read_text("utf-8")
        ]
        return found

    def notes(self) -> list[Memory]:
        return [file.memory for file in self.store.files(ids_in(self.store.root)).values() if file.memory]
