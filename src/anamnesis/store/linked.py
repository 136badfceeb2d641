"""Marks of notes: which are outdated, contradicted or stale; and the order of hits, newer before outdated notes."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from anamnesis.notes.marks import CONTRADICTS, STALE, UPDATED_BY, UPDATES
from anamnesis.store.queries import NOT_SUPERSEDED
from anamnesis.store.question import Marks, Question, Ranked

if TYPE_CHECKING:
    from anamnesis.store.index import Connection

# If a search finds an outdated note without the newer one, it is repeated with this many more hits.
_FURTHER = 24

# A mark on either note suffices: the other note's may not have been synced yet.
_MARKED = f"""
    WITH given AS (SELECT value AS id FROM json_each(:ids)), found (id, name, value) AS (
        SELECT memory_id, name, value FROM marks WHERE memory_id IN given AND name IN ('{UPDATED_BY}', '{CONTRADICTS}')
        UNION SELECT value, '{UPDATED_BY}', memory_id FROM marks WHERE value IN given AND name = '{UPDATES}'
        UNION SELECT value, name, memory_id FROM marks WHERE value IN given AND name = '{CONTRADICTS}'
    )
    SELECT found.id, name, value, m.updated_at AS at FROM found CROSS JOIN memories AS m ON m.id = value
    WHERE m.deleted_at IS NULL AND {NOT_SUPERSEDED} AND (name = '{CONTRADICTS}' OR hides(value))
    UNION ALL SELECT memory_id, name, value, '' FROM marks WHERE memory_id IN given AND name = '{STALE}'
    ORDER BY at DESC, value DESC
"""


def marked(db: Connection, ids: Iterable[str]) -> dict[str, Marks]:
    """The marks of those notes that have any, without links to missing or superseded notes.

    A newer note that the user has not accepted does not outdate one.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for id, name, value, _ in db.execute(_MARKED, {"ids": json.dumps(list(ids))}):
        found.setdefault(id, {}).setdefault(name, []).append(value)
    return {
        id: Marks(tuple(marks.get(UPDATED_BY, ())), tuple(marks.get(CONTRADICTS, ())), " ".join(marks.get(STALE, ())))
        for id, marks in found.items()
    }


def newer_first(
    db: Connection, asked: Question, found: list[Ranked], find: Callable[[Connection, Question], list[Ranked]]
) -> list[Ranked]:
    """The hits of `find`, with each outdated note's newer note moved to its position, before it."""
    newer = newer_of(marked(db, [hit.id for hit in found]))
    if not newer:
        return found
    if not {id for ids in newer.values() for id in ids} <= {hit.id for hit in found}:
        found = find(db, asked._replace(k=asked.k + _FURTHER))
        newer = newer_of(marked(db, [hit.id for hit in found]))
    hits = {hit.id: hit for hit in found}
    return [hits[id] for id in in_order([*hits], newer)][: asked.k]


def newer_of(marks: Mapping[str, Marks]) -> dict[str, tuple[str, ...]]:
    """The notes that outdate each outdated note."""
    return {id: each.outdated_by for id, each in marks.items() if each.outdated_by}


def in_order(ids: Sequence[str], newer: Mapping[str, Collection[str]]) -> list[str]:
    """The ids in their order, but each after its newer ones; ids in a cycle keep their order."""
    given, begun = {*ids}, set[str]()
    placed: dict[str, None] = {}
    for id in ids:
        path = [id]
        while path:
            begun.add(path[-1])
            before = next((each for each in newer.get(path[-1], ()) if each in given and each not in begun), None)
            if before is None:
                placed.setdefault(path.pop())
            else:
                path.append(before)
    return [*placed]
