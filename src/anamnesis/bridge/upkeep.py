"""Counts notes and observations, their pending changes, and differences without a pending change."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from anamnesis.bridge import journal
from anamnesis.bridge.journal import FOLLOWER
from anamnesis.bridge.mapping import fingerprint, owns
from anamnesis.engram import schema
from anamnesis.engram.database import connect_to_read, reading
from anamnesis.engram.observations import COLUMNS
from anamnesis.store import MemoryStore
from anamnesis.store.change_log import NoteChange


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many changes of each side are pending."""

    notes: int
    observations: int

    @property
    def total(self) -> int:
        return self.notes + self.observations


@dataclass(frozen=True, slots=True)
class State:
    """How much each side holds, how many twins there are, and how much is pending."""

    database: str
    notes: int
    observations: int
    twins: int
    waiting: Waiting


def read_state(path: Path, store: MemoryStore) -> State:
    """The state as it is on the disk; nothing is written, and nothing reconciled."""
    with closing(connect_to_read(path)) as db, reading(db):
        schema.refuse_older(db, path)
        return state(db, store, path)


def read_drift(path: Path, store: MemoryStore) -> int:
    """The drift as it is on the disk; 0 if the two sides were never reconciled, as everything is pending then."""
    with closing(connect_to_read(path)) as db, reading(db):
        return drift(db, store) if journal.is_prepared(db) else 0


def read_copies(path: Path) -> int:
    """How many observations have the sync id of another one, as earlier releases and Engram's own import left them."""
    with closing(connect_to_read(path)) as db, reading(db):
        if not journal.is_prepared(db):
            return 0
        pairs = db.execute(
            "SELECT note_id, ifnull(sync_id, '') FROM anamnesis_twins JOIN observations ON id = observation_id"
        )
        return sum(not owns(note_id, sync_id) for note_id, sync_id in pairs)


def waiting(db: sqlite3.Connection, store: MemoryStore) -> Waiting:
    """How many changes are pending: everything, if there was no reconciliation yet.

    Hidden notes without an observation do not count: no observation is made for them.
    """
    pending, rows = None, "SELECT count(*) FROM observations"
    if journal.is_prepared(db):
        pending = store.log.pending(FOLLOWER, journal.identity(db))
        rows = "SELECT count(DISTINCT observation_id) FROM anamnesis_changes"
    (observations,) = db.execute(rows).fetchone()
    if pending is None:
        return Waiting(store.count(), observations)
    return Waiting(_due(db, store, pending.changes) if pending.changes else 0, observations)


def _due(db: sqlite3.Connection, store: MemoryStore, changes: Sequence[NoteChange]) -> int:
    """How many of the changes need work: those of visible notes, of deleted ones, and of any with a twin."""
    noted = {note_id for (note_id,) in db.execute("SELECT note_id FROM anamnesis_twins")}
    noted |= store.hashes(hidden=False).keys()
    return sum(change.hash is None or change.note_id in noted for change in changes)


def state(db: sqlite3.Connection, store: MemoryStore, path: Path) -> State:
    (observations,) = db.execute("SELECT count(*) FROM observations WHERE deleted_at IS NULL").fetchone()
    twins = "SELECT count(*) FROM anamnesis_twins" if journal.is_prepared(db) else "SELECT 0"
    return State(str(path), store.count(), observations, db.execute(twins).fetchone()[0], waiting(db, store))


def drift(db: sqlite3.Connection, store: MemoryStore) -> int:
    """How many notes and observations differ from their last agreement without a pending change. Reads every row."""
    rows: dict[int, bytes] = {}
    live_rows: set[int] = set()
    for row in map(journal.as_observation, db.execute(f"SELECT {COLUMNS} FROM observations")):
        rows[row.id] = fingerprint(row)
        if not row.deleted_at:
            live_rows.add(row.id)
    twins = db.execute("SELECT observation_id, note_id, row_hash, note_hash FROM anamnesis_twins").fetchall()
    notes = store.hashes()
    noted_rows = {id for (id,) in db.execute("SELECT observation_id FROM anamnesis_changes")}
    pending = _pending(store)
    differing: int = sum(
        rows.get(id) != row_hash or notes.get(note_id) != note_hash
        for id, note_id, row_hash, note_hash in twins
        if id not in noted_rows and note_id not in pending
    )
    live_notes = store.hashes(hidden=False).keys()
    return (
        differing
        + len(live_rows - noted_rows - {id for id, *_ in twins})
        + len(live_notes - pending - {note_id for _, note_id, *_ in twins})
    )


def _pending(store: MemoryStore) -> set[str]:
    """The notes that the bridge has not processed yet."""
    pending = store.log.pending(FOLLOWER)
    return {change.note_id for change in pending.changes} if pending else set()
