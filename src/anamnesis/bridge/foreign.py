"""Says of observations that their notes are foreign, or other versions of a note in a conflict. Engram's rows have no
field for it, so their texts say it. Pure but for reads of engram.db: a client of Engram waits for no index.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from anamnesis.bridge import journal
from anamnesis.engram.record import Row
from anamnesis.engram.twins import is_bridged
from anamnesis.errors import InvalidNote
from anamnesis.notes import Memory, parse
from anamnesis.notes.fence import field, marked_title, quoted
from anamnesis.notes.foreign import Origin, as_foreign
from anamnesis.notes.merge import conflict_of
from anamnesis.notes.record import GLOBAL

# Front matter takes 30 µs to parse, and lists have the same rows again.
_MOST_CACHED = 1024
_FIELDS = ("type", "project", "scope", "topic_key", "tool_name", "session_id")


def notes_of(db: sqlite3.Connection, rows: Sequence[Row]) -> dict[int, Memory]:
    """The notes of these rows by the rows' ids, with the rows' texts; an imported row without a note counts as one."""
    ids = {row.id for row in rows}
    fronts = {each.observation_id: each.front for each in journal.twins(db, of_rows=ids)} if is_bridged(db) else {}
    imported = journal.origins(db, ids - fronts.keys())
    found: dict[int, Memory] = {}
    for row in rows:
        if row.id in imported:
            found[row.id] = as_foreign(_bare(row), imported[row.id].name)
        elif row.id in fronts:
            found[row.id] = _with_front(row, fronts[row.id])
    return found


def as_marked(row: Row, origin: Origin) -> Row:
    """The row of a foreign note: its title begins with the origin, and every line of its text has the fence's prefix.

    Every other field is one line, so that it cannot imitate another memory in a text.
    """
    fields: dict[str, Any] = {name: field(value) for name in _FIELDS if isinstance(value := getattr(row, name), str)}
    return replace(row, **fields, title=marked_title(row.title, origin), content=quoted(row.content))


def other_versions(db: sqlite3.Connection, notes: Mapping[int, Memory]) -> dict[int, str]:
    """The originals of those of the notes that are the other version in a conflict, by the rows' ids."""
    found = {id: original for id, note in notes.items() if (original := conflict_of(note))}
    known = {twin.note_id: twin.observation_id for twin in journal.twins(db, of_notes=found.values())} if found else {}
    return {id: f"#{known[original]}" if original in known else original for id, original in found.items()}


def as_other_version(row: Row, original: str) -> Row:
    """The row of a conflicting version: its title says of which memory."""
    return replace(row, title=f"[conflicting version of {original}] {row.title}")


def _with_front(row: Row, front: str) -> Memory:
    try:
        return replace(_parsed(front), body=row.content)
    except InvalidNote:
        return as_foreign(_bare(row), "unknown")


@lru_cache(maxsize=_MOST_CACHED)
def _parsed(front: str) -> Memory:
    return parse(front)


def _bare(row: Row) -> Memory:
    return Memory(f"row-{row.id}", "semantic", row.title, row.content, project=row.project or GLOBAL)
