"""Facets and links: the number of notes by project, type, tag, machine and source, and the links between notes."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from anamnesis.recall.query import query_terms
from anamnesis.store.projects import all_projects, by_any_name, shown_names
from anamnesis.store.queries import Filter

if TYPE_CHECKING:
    from anamnesis.store.index import Connection
    from anamnesis.store.store import MemoryStore

# The columns that are counted together, by the names of their facets.
_COLUMNS = {"project": "m.project", "type": "m.type", "machine": "m.machine_id", "source": "m.prov_source"}
_MOST_VALUES = 12
_MOST_CACHED = 100


class Facets(NamedTuple):
    """The total number of notes, and for each facet the most frequent values with their counts.

    A project has one name among the values, under which it may also be the `chosen` one.
    """

    total: int
    values: dict[str, list[tuple[str, int]]]
    chosen: tuple[str, ...] = ()


def facets(store: MemoryStore, query: str, wanted: Filter) -> Facets:
    """The facets of the notes that a filter selects and that hold a word of the query.

    Each facet is counted without its own filter, so that its other values can be chosen.
    """
    terms = tuple(query_terms(query).terms)
    return store._catalogue.ask(lambda db: _facets(db, terms, by_any_name(db, wanted)))


def _facets(db: Connection, terms: tuple[str, ...], wanted: Filter) -> Facets:
    """The facets, counted again only when the index has changed."""
    known: dict[Any, Facets] = db.learned().facets
    if (found := known.get((terms, wanted))) is None:
        if len(known) >= _MOST_CACHED:
            known.clear()
        found = known[terms, wanted] = _counted(db, " OR ".join(filter(None, map(_phrase, terms))), wanted)
    return found


def _counted(db: Connection, match: str, wanted: Filter) -> Facets:
    """One statement counts the notes of every combination of the columns, and one their tags."""
    rest = replace(wanted, project=None, names=(), type=None, machine=None, source=None)
    columns = ", ".join(_COLUMNS.values())
    shown = shown_names(all_projects(db))
    rows = _select(db, rest, match, f"{columns}, count(*)", f"GROUP BY {columns}")
    crossed = [(shown.get(project, project), *others) for project, *others in rows]
    of_project, *of_others = [_chosen(wanted, name) for name in _COLUMNS]
    project = tuple(dict.fromkeys(shown.get(name, name) for name in of_project))
    chosen = [project, *of_others]
    fits = [[not some or value in some for value, some in zip(row, chosen, strict=False)] for row in crossed]
    found = {
        name: _most((row[place], row[-1]) for row, fit in zip(crossed, fits, strict=True) if all(_but(fit, place)))
        for place, name in enumerate(_COLUMNS)
    }
    total = sum(row[-1] for row, fit in zip(crossed, fits, strict=True) if all(fit))
    return Facets(total, {**found, "tag": _tags(db, match, wanted)}, project)


def _chosen(wanted: Filter, name: str) -> tuple[str, ...]:
    """The values of a facet that a filter selects; none if it selects any."""
    value = getattr(wanted, name)
    return wanted.names if name == "project" and wanted.names else () if value is None else (value,)


def _but(values: list[bool], place: int) -> list[bool]:
    return values[:place] + values[place + 1 :]


def _most(counts: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """The most frequent values."""
    sums = Counter[str]()
    for value, count in counts:
        sums[value] += count
    return sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))[:_MOST_VALUES]


def _tags(db: Connection, match: str, wanted: Filter) -> list[tuple[str, int]]:
    """The most frequent tags of the selected notes; without a filter, the index of tags is read alone."""
    most = f"GROUP BY tag ORDER BY count(*) DESC, tag LIMIT {_MOST_VALUES}"
    if not match and wanted == Filter():
        return db.execute(f"SELECT tag, count(*) FROM memory_tags {most}").fetchall()
    return _select(db, wanted, match, "tag, count(*)", most, "CROSS JOIN memory_tags ON memory_id = m.id")


def _select(db: Connection, wanted: Filter, match: str, columns: str, grouped: str, joined: str = "") -> list[Any]:
    held = " AND m.number IN (SELECT rowid FROM memories_fts WHERE memories_fts MATCH :match)" if match else ""
    query = f"SELECT {columns} FROM memories AS m {joined} WHERE {wanted.sql}{held} {grouped}"
    return db.execute(query, {**wanted.values, "match": match}).fetchall()


class Link(NamedTuple):
    """A linked note, and the kind of the link: supersedes, is superseded by, links to or is linked from."""

    id: str
    title: str
    how: str


def links(store: MemoryStore, note_id: str, title: str, named: Iterable[str]) -> list[Link]:
    """The notes that a note supersedes or names by id or title, and those that supersede or name it."""
    return store._catalogue.ask(lambda db: _links(db, note_id, title, [*named]))


def named_note(store: MemoryStore, name: str) -> str | None:
    """The id of the newest note with this id or title, ignoring case; None if there is none."""
    words = f"title : {_phrase(name)}" if _phrase(name) else ""
    query = (
        "SELECT id FROM memories AS m WHERE deleted_at IS NULL AND (id = :name OR (title = :name COLLATE NOCASE"
        f" {'AND number IN (SELECT rowid FROM memories_fts WHERE memories_fts MATCH :words)' if words else ''}))"
        " ORDER BY updated_at DESC LIMIT 1"
    )
    row = store._catalogue.ask(lambda db: db.execute(query, {"name": name, "words": words}).fetchone())
    return row[0] if row else None


def named_notes(store: MemoryStore, names: Iterable[str]) -> dict[str, str]:
    """The ids of the notes that have these ids or titles."""
    return {name: id for name in names if (id := named_note(store, name))}


def _phrase(text: str) -> str:
    """The words of a text as a phrase for FTS5; "" if it has none."""
    words = " ".join(re.findall(r"\w+", text))
    return f'"{words}"' if words else ""


def _links(db: Connection, note_id: str, title: str, named: list[str]) -> list[Link]:
    words = " OR ".join(f"body : {phrase}" for phrase in map(_phrase, (note_id, title)) if phrase)
    rows = db.execute(
        "SELECT m.id, m.title, 'supersedes' FROM supersessions JOIN memories AS m ON m.id = superseded_id"
        " WHERE memory_id = :id"
        " UNION ALL SELECT m.id, m.title, 'is superseded by' FROM supersessions JOIN memories AS m ON m.id = memory_id"
        " WHERE superseded_id = :id"
        " UNION ALL SELECT id, title, 'links to' FROM memories WHERE id <> :id AND deleted_at IS NULL"
        " AND id IN (SELECT value FROM json_each(:named))"
        " UNION ALL SELECT m.id, m.title, 'is linked from' FROM memories_fts"
        " JOIN memories AS m ON m.number = memories_fts.rowid"
        " WHERE memories_fts MATCH :words AND m.id <> :id AND m.deleted_at IS NULL"
        " AND (instr(memories_fts.body, :id) OR instr(lower(memories_fts.body), '[[' || lower(:title)))",
        {"id": note_id, "title": title, "named": json.dumps(named), "words": words},
    )
    return [Link(*row) for row in rows]


class Machine(NamedTuple):
    """A machine that wrote notes: how many, and when it last wrote one."""

    name: str
    notes: int
    last: str


def machines(store: MemoryStore) -> list[Machine]:
    """The machines of the notes, the one that wrote last first."""
    query = (
        "SELECT machine_id, count(*), max(updated_at) FROM memories WHERE deleted_at IS NULL"
        " GROUP BY machine_id ORDER BY 3 DESC"
    )
    return [Machine(*row) for row in store._catalogue.ask(lambda db: db.execute(query).fetchall())]
