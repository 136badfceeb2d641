"""Writes the use of notes into Reverie's columns of their observations, where engram.db has these.

A change of these columns is no change of an observation: the triggers of the journal do not fire.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anamnesis.engram import schema
from anamnesis.engram.database import writing
from anamnesis.notes import Memory
from anamnesis.notes.marks import REFLECTED
from anamnesis.store import MemoryStore
from anamnesis.store.priors import seconds_of
from anamnesis.store.usage import Totals

_COLUMNS = Path(schema.__file__).with_name("reverie.sql")
_DEPTHS = {"episodic": 1, "procedural": 2, "semantic": 3}
# How much a use says about notes of a type: episodes are found because they are new.
_WEIGHTS = {"episodic": 0.5}
_STAGED, _CONSOLIDATED, _ARCHIVED = "Staged", "Consolidated", "Archived"
# Smaller differences are not written: strengths decay constantly, and every write updates Engram's word index.
_LEAST = 0.02
# Observations that are written in one transaction.
BATCH = 100
_OURS = {
    *("strength", "depth_score", "session_spread", "stability", "signal_score", "staleness_score"),
    "consolidation_status",
}


def is_wanted(db: sqlite3.Connection, *, add: bool) -> bool:
    """Whether engram.db has the columns. With `add`, missing ones are created."""
    if add and not schema.is_made(db, _COLUMNS):
        with writing(db):
            schema.make_missing(db, _COLUMNS)
    return "strength" in _columns(db)


def write(db: sqlite3.Connection, store: MemoryStore, totals: Mapping[str, Totals], now: float) -> int:
    """Write the values of these notes that changed by `_LEAST` or more; returns how many notes were updated."""
    notes = {note.id: note for note in store.live(totals)}
    names = sorted(_columns(db) & _OURS)  # another version of Reverie may have other columns
    query = (
        f"SELECT note_id, observations.id, revision_count, {', '.join(names)} FROM anamnesis_twins"
        " JOIN observations ON observations.id = observation_id"
        " WHERE note_id IN (SELECT value FROM json_each(:ids)) AND deleted_at IS NULL"
    )
    changes = []
    for note_id, id, revisions, *before in db.execute(query, {"ids": json.dumps([*totals])}).fetchall():
        values = _values(notes.get(note_id), totals[note_id], revisions, now)
        if any(_differs(old, values[name]) for name, old in zip(names, before, strict=True)):
            changes.append({"id": id, **values})
    if changes:
        assigned = ", ".join(f"{name} = :{name}" for name in names)
        with writing(db):
            db.executemany(f"UPDATE observations SET {assigned} WHERE id = :id", changes)
    return len(changes)


def _columns(db: sqlite3.Connection) -> set[str]:
    return {name for (name,) in db.execute("SELECT name FROM pragma_table_info('observations')")}


def _values(note: Memory | None, totals: Totals, revisions: int, now: float) -> dict[str, Any]:
    """Reverie's fields of a note, in its ranges; a note that is not live is superseded."""
    use = totals.use.changed(seconds_of(note.updated_at) or 0.0) if note else totals.use
    kind = note.type if note else ""
    signal = math.log1p(use.uses) * (1 + math.log(max(1, revisions))) * _WEIGHTS.get(kind, 1.0)
    return {
        "strength": round(use.strength(now), 3),
        "depth_score": _DEPTHS.get(kind, 1),
        "session_spread": max(1, use.sessions),
        "stability": round(use.stability, 2),
        "signal_score": round(signal, 3),
        "staleness_score": round(use.staleness(now), 3),
        "consolidation_status": _status(note),
    }


def _status(note: Memory | None) -> str:
    if note is None or REFLECTED in note.tags:
        return _ARCHIVED
    return _CONSOLIDATED if note.superseded or note.prov_source == "reflection" else _STAGED


def _differs(old: object, new: object) -> bool:
    if isinstance(old, int | float) and isinstance(new, float):
        return abs(old - new) >= _LEAST * max(1.0, abs(old))
    return old != new
