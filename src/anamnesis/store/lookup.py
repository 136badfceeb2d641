"""Look-ups: notes that a text names or a filter selects, the duplicates of a note, and all tags. Reads no file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from anamnesis.notes import Memory, writable
from anamnesis.store.index import Connection
from anamnesis.store.projects import by_any_name
from anamnesis.store.queries import NOT_SUPERSEDED, Filter
from anamnesis.store.store import MemoryStore

# How a text can name a note, ignoring case; the first condition that any note meets is used.
_WAYS = (
    "id = :given",
    "substr(id, 1, length(:given)) = :given COLLATE NOCASE",
    "title = :given COLLATE NOCASE",
    "substr(id, -length(:given)) = :given COLLATE NOCASE",
    "instr(upper(id), upper(:given))",
    "instr(lower(title), lower(:given))",
)
_GIVEN = "(SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS title FROM json_each(:among))"
_MOST_NAMED = 10
_MOST_HOLDING = 8


class Name(NamedTuple):
    """A note by its id and title."""

    id: str
    title: str


def named(store: MemoryStore, given: str, among: Sequence[Name] | None = None) -> list[Name]:
    """The notes that a text names, by an id, a title or a part of one; only of those `among`, if given."""
    notes = "memories" if among is None else _GIVEN
    values = {"given": writable(given.strip()), "among": json.dumps(among or []), "limit": _MOST_NAMED}
    for way in _WAYS if values["given"] else ():
        query = f"SELECT id, title FROM {notes} WHERE {way} ORDER BY id DESC LIMIT :limit"
        if found := _rows(store, query, values):
            return [Name(*row) for row in found]
    return []


def duplicates(store: MemoryStore, note: Memory) -> list[str]:
    """The ids of the other notes with the same title and body."""
    query = (
        "SELECT id FROM memories AS m WHERE title = :title AND id <> :id AND deleted_at IS NULL"
        " AND (SELECT body FROM memories_fts WHERE rowid = m.number) = :body ORDER BY id"
    )
    values = {"title": note.title, "id": note.id, "body": note.body}
    return [row[0] for row in _rows(store, query, values)]


def holding(
    store: MemoryStore, words: Iterable[str], *, project: str, episodic: bool, limit: int = _MOST_HOLDING
) -> list[str]:
    """The ids of the episodes of a project, or of its durable notes, that hold every one of these words."""
    match = " AND ".join('"{}"'.format(word.replace('"', '""')) for word in words)

    def read(db: Connection) -> list[str]:
        wanted = by_any_name(db, Filter(project))
        query = (
            "SELECT m.id FROM memories_fts CROSS JOIN memories AS m ON m.number = memories_fts.rowid"
            f" WHERE memories_fts MATCH :match AND {wanted.project_sql} AND (m.type = 'episodic') = :episodic"
            f" AND {NOT_SUPERSEDED} ORDER BY m.id LIMIT :limit"
        )
        values = {**wanted.values, "match": match, "episodic": episodic, "limit": limit}
        return [id for (id,) in db.execute(query, values)]

    return store._catalogue.ask(read) if match else []


def selected_ids(store: MemoryStore, wanted: Filter) -> list[str]:
    """The ids of all notes that a filter selects, in the order of their creation."""

    def read(db: Connection) -> list[str]:
        chosen = by_any_name(db, wanted)
        query = f"SELECT m.id FROM memories AS m WHERE {chosen.sql} ORDER BY m.created_at, m.id"
        return [id for (id,) in db.execute(query, chosen.values)]

    return store._catalogue.ask(read)


def tags(store: MemoryStore) -> list[str]:
    """All tags, the most used first."""
    return [row[0] for row in _rows(store, "SELECT tag FROM memory_tags GROUP BY tag ORDER BY count(*) DESC, tag", {})]


def _rows(store: MemoryStore, query: str, values: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return store._catalogue.ask(lambda db: db.execute(query, values).fetchall())
