"""Queries of the index: lists, counts and links of notes. Reads no file."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from heapq import merge
from itertools import islice
from typing import Any, NamedTuple, TypedDict

from anamnesis.errors import InvalidArgument
from anamnesis.notes import REFLECTED, SCOPES, SOURCES, TYPES, Memory, MemoryType, Scope, writable
from anamnesis.store.files import TREES

# The fields of a note that the index has, with their SQL expressions.
_FIELDS = {
    **{name: f"m.{name}" for name in ("id", "type", "title", "project", "machine_id", "scope")},
    "body": "(SELECT body FROM memories_fts WHERE rowid = m.number)",
    "tags": "(SELECT json_group_array(tag) FROM (SELECT tag FROM memory_tags WHERE memory_id = m.id ORDER BY rowid))",
    **{name: f"m.{name}" for name in ("created_at", "updated_at", "prov_source", "confidence")},
    **{name: f"coalesce(m.{name}, '')" for name in ("prov_model", "prov_session", "supersedes")},
}
# The orders of a list. Each ends with the id, so that pages neither overlap nor leave a note out.
_ORDERS = {
    "updated": "m.updated_at DESC, m.id DESC",
    "created": "m.created_at DESC, m.id DESC",
    "title": "m.title COLLATE NOCASE, m.id",
    "project": "m.project, m.updated_at DESC, m.id DESC",
}
ORDERS = tuple(_ORDERS)


_BOUND = ("project", "type", "scope", "source", "machine", "since", "until")


class MoreFilters(TypedDict, total=False):
    """Optional filters: notes with all of these tags, of this source and machine, changed in [since, until), with one
    of these ids, and neither imported nor one of these `others`."""

    tags: tuple[str, ...]
    source: str | None
    machine: str | None
    since: str | None
    until: str | None
    ids: tuple[str, ...] | None
    others: tuple[str, ...] | None


# The condition for notes `m` that no other note supersedes; a note that the user has not accepted does not.
NOT_SUPERSEDED = "NOT EXISTS (SELECT 1 FROM supersessions WHERE superseded_id = m.id AND hides(memory_id))"


@dataclass(frozen=True, slots=True)
class Filter:
    """Which notes a query selects; None for any."""

    project: str | None = None
    type: MemoryType | None = None
    scope: Scope | None = None
    names: tuple[str, ...] = ()  # all names of the project, where it has several
    tags: tuple[str, ...] = ()
    source: str | None = None
    since: str | None = None
    until: str | None = None
    machine: str | None = None
    ids: tuple[str, ...] | None = None
    others: tuple[str, ...] | None = None  # teammates' notes, which are left out, and so are imports

    def __post_init__(self) -> None:
        for name, allowed in (("type", TYPES), ("scope", SCOPES), ("source", SOURCES)):
            value = getattr(self, name)
            if value is not None and value not in allowed:
                raise InvalidArgument(f"{name} {value!r} is not one of {', '.join(allowed)}.")
        if self.project is not None:
            object.__setattr__(self, "project", writable(self.project))
        if self.tags:
            object.__setattr__(self, "tags", tuple(map(writable, self.tags)))

    @property
    def sql(self) -> str:
        conditions = ["m.deleted_at IS NULL"]
        if self.project is not None:
            conditions.append(self.project_sql)
        conditions += [f"m.{name} = :{name}" for name in ("type", "scope") if getattr(self, name) is not None]
        others = {
            "source": "prov_source =",
            "machine": "machine_id =",
            "since": "updated_at >=",
            "until": "updated_at <",
        }
        conditions += [
            f"m.{condition} :{name}" for name, condition in others.items() if getattr(self, name) is not None
        ]
        if self.ids is not None:
            conditions.append("m.id IN (SELECT value FROM json_each(:ids))")
        if self.others is not None:
            conditions.append("m.prov_source <> 'import' AND m.id NOT IN (SELECT value FROM json_each(:others))")
        if self._tag_words:
            conditions.append("m.number IN (SELECT rowid FROM memories_fts WHERE memories_fts MATCH :tag_words)")
        if self.tags:
            conditions.append(
                "NOT EXISTS (SELECT 1 FROM json_each(:tags) WHERE NOT EXISTS (SELECT 1 FROM memory_tags"
                " WHERE memory_id = m.id AND tag = value COLLATE NOCASE))"
            )
        return " AND ".join(conditions)

    @property
    def project_sql(self) -> str:
        return "m.project IN (SELECT value FROM json_each(:names))" if len(self.names) > 1 else "m.project = :project"

    @property
    def values(self) -> dict[str, str | None]:
        bound = {name: getattr(self, name) for name in _BOUND}
        bound |= {"ids": json.dumps(self.ids), "others": json.dumps(self.others or ())}
        return {**bound, "names": json.dumps(self.names), "tags": json.dumps(self.tags), "tag_words": self._tag_words}

    @property
    def _tag_words(self) -> str:
        """The FTS5 expression for notes that may have these tags: an index lookup before tags are compared."""
        words = (tag.replace('"', '""') for tag in self.tags if re.search("[A-Za-z0-9]", tag))
        return " AND ".join(f'tags : "{word}"' for word in words)


class StoreStats(NamedTuple):
    """How many notes there are, in total, by type, by project and by scope."""

    total: int
    by_type: dict[str, int]
    by_project: dict[str, int]
    by_scope: dict[str, int]


def at_least_zero(name: str, value: int) -> int:
    """Check a limit, and cap it at what SQLite accepts."""
    if value < 0:
        raise InvalidArgument(f"{name} is {value}, but cannot be less than 0.")
    return min(value, 2**31 - 1)


def standing(db: sqlite3.Connection, ids: Iterable[str]) -> dict[str, tuple[str, bytes]]:
    """The standing files of notes, by id: their paths, and their hashes when they were indexed."""
    rows = db.execute(
        "SELECT memory_id, path, hash FROM standing_files WHERE memory_id IN (SELECT value FROM json_each(:ids))",
        {"ids": json.dumps(list(ids))},
    )
    return {memory_id: (path, hash) for memory_id, path, hash in rows}


def hidden(db: sqlite3.Connection) -> list[tuple[str, str, Scope, str, str]]:
    """Id, title, scope, path and time of deletion of the notes that Engram deleted."""
    rows = db.execute("SELECT id, title, scope, body_path, deleted_at FROM memories WHERE deleted_at IS NOT NULL")
    return [(id, title, scope, f"{TREES[scope]}/{path}", deleted_at) for id, title, scope, path, deleted_at in rows]


def ids_ending(db: sqlite3.Connection, ending: str) -> list[str]:
    """The ids that end with this text, which follows their time."""
    rows = db.execute("SELECT id FROM memories WHERE substr(id, -length(:ending)) = :ending", {"ending": ending})
    return [row[0] for row in rows]


def tagged(db: sqlite3.Connection, tag: str) -> list[str]:
    rows = db.execute("SELECT memory_id FROM memory_tags WHERE tag = :tag ORDER BY memory_id", {"tag": tag})
    return [row[0] for row in rows]


def ids_from(db: sqlite3.Connection, source: str) -> list[str]:
    rows = db.execute(
        "SELECT id FROM memories WHERE prov_source = :source AND deleted_at IS NULL ORDER BY id", {"source": source}
    )
    return [row[0] for row in rows]


def marked_ids(db: sqlite3.Connection, name: str) -> list[str]:
    return [id for (id,) in db.execute("SELECT DISTINCT memory_id FROM marks WHERE name = :name", {"name": name})]


def ids_in_spaces(db: sqlite3.Connection) -> list[str]:
    rows = db.execute(
        "SELECT id FROM memories WHERE rest LIKE '%space: %' AND deleted_at IS NULL AND scope = 'portable'"
    )
    return [id for (id,) in rows]


def list_notes(
    db: sqlite3.Connection, wanted: Filter, limit: int | None, offset: int, order: str = "updated"
) -> list[Memory]:
    """Notes in this order, with the fields that the index has: everything but foreign front matter."""
    if len(wanted.names) > 1 and order == "updated":
        numbers = _newest(db, wanted, limit, offset)
        return _list(db, "m.number IN (SELECT value FROM json_each(:numbers))", {"numbers": json.dumps(numbers)})
    if limit is None and not offset:
        return _list(db, wanted.sql, wanted.values, order)
    # The numbers first, so that sorting reads no text of notes that are not listed.
    page = (
        f"SELECT m.number FROM memories AS m WHERE {wanted.sql} ORDER BY {_ORDERS[order]} LIMIT :limit OFFSET :offset"
    )
    values = {**wanted.values, "limit": -1 if limit is None else limit, "offset": offset}
    return _list(db, f"m.number IN ({page})", values, order)


def _list(db: sqlite3.Connection, condition: str, values: Mapping[str, Any], order: str = "updated") -> list[Memory]:
    columns = ", ".join(f"{source} AS {name}" for name, source in _FIELDS.items())
    query = f"SELECT {columns} FROM memories AS m WHERE {condition} ORDER BY {_ORDERS[order]}"
    rows = db.execute(query, values)
    return [_memory(row) for row in rows]


def whole_note(db: sqlite3.Connection, number: int) -> Memory | None:
    """A note with all its fields, from the index alone; None if it is hidden."""
    return next(iter(_whole_notes(db, "m.number = :number AND m.deleted_at IS NULL", {"number": number})), None)


def fronts(db: sqlite3.Connection, ids: Iterable[str]) -> dict[str, dict[str, str]]:
    """The foreign front matter, marks included, of those of the notes that have some."""
    rows = db.execute(
        "SELECT id, json_extract(rest, '$.extra') FROM memories WHERE id IN (SELECT value FROM json_each(:ids))"
        " AND rest IS NOT NULL AND json_extract(rest, '$.extra') IS NOT NULL",
        {"ids": json.dumps(list(ids))},
    )
    return {id: json.loads(extra) for id, extra in rows}


def live_notes(db: sqlite3.Connection, ids: Iterable[str]) -> list[Memory]:
    """Those of the notes that are neither hidden nor superseded, with all their fields."""
    condition = f"m.id IN (SELECT value FROM json_each(:ids)) AND m.deleted_at IS NULL AND {NOT_SUPERSEDED}"
    return _whole_notes(db, condition, {"ids": json.dumps(list(ids))})


def whole_notes(db: sqlite3.Connection, ids: Iterable[str]) -> list[Memory]:
    """Those of the notes that are not hidden, superseded ones included, with all their fields."""
    condition = "m.id IN (SELECT value FROM json_each(:ids)) AND m.deleted_at IS NULL"
    return _whole_notes(db, condition, {"ids": json.dumps(list(ids))})


def later_than(db: sqlite3.Connection, limit: str) -> list[str]:
    """The ids of the notes with a later time than this, the latest first."""
    query = (
        "SELECT id FROM (SELECT id, created_at AS at, deleted_at FROM memories UNION ALL"
        " SELECT id, updated_at, deleted_at FROM memories)"
        " WHERE deleted_at IS NULL AND at > :limit AND at LIKE '%+00:00' GROUP BY id ORDER BY max(at) DESC, id"
    )
    return [id for (id,) in db.execute(query, {"limit": limit})]


def unreflected(db: sqlite3.Connection, wanted: Filter) -> dict[str, bytes]:
    """The hashes of the files of the wanted live notes that were not folded into others, the oldest first."""
    query = (
        f"SELECT m.id, hash FROM memories AS m JOIN standing_files ON memory_id = m.id WHERE {wanted.sql} AND"
        f" {NOT_SUPERSEDED} AND NOT EXISTS (SELECT 1 FROM memory_tags AS t WHERE t.memory_id = m.id AND tag = :tag)"
        " ORDER BY m.updated_at, m.id"
    )
    return dict(db.execute(query, {**wanted.values, "tag": REFLECTED}))


def having(db: sqlite3.Connection, stems: Iterable[str], wanted: Filter, most: int) -> list[str]:
    """The ids of live durable notes that have, for each of the stems, a word that begins with it."""
    match = " AND ".join(f'"{stem.replace(chr(34), "")}" *' for stem in stems)
    query = (
        "SELECT m.id FROM memories_fts JOIN memories AS m ON m.number = memories_fts.rowid"
        f" WHERE memories_fts MATCH :match AND m.type <> 'episodic' AND {wanted.sql} AND {NOT_SUPERSEDED}"
        " ORDER BY m.id LIMIT :most"
    )
    return [id for (id,) in db.execute(query, {**wanted.values, "match": match, "most": most})]


def _whole_notes(db: sqlite3.Connection, condition: str, values: dict[str, Any]) -> list[Memory]:
    rests = dict(db.execute(f"SELECT m.id, m.rest FROM memories AS m WHERE m.rest IS NOT NULL AND {condition}", values))
    found = _list(db, condition, values)
    return [replace(note, **json.loads(rests[note.id])) if note.id in rests else note for note in found]


def _newest(db: sqlite3.Connection, wanted: Filter, limit: int | None, offset: int) -> list[int]:
    """The numbers of the newest notes of a project with several names: one list per name, read as far as needed."""
    lists = [
        db.execute(
            f"SELECT m.updated_at, m.id, m.number FROM memories AS m WHERE {one.sql}"
            " ORDER BY m.updated_at DESC, m.id DESC",
            one.values,
        )
        for one in (replace(wanted, project=name, names=()) for name in wanted.names)
    ]
    end = None if limit is None else offset + limit
    return [number for _, _, number in islice(merge(*lists, reverse=True), offset, end)]


def _memory(row: tuple[Any, ...]) -> Memory:
    values = dict(zip(_FIELDS, row, strict=True))
    tags, supersedes = json.loads(values["tags"]), values["supersedes"].split(" ")
    return Memory(**{**values, "tags": tags, "supersedes": supersedes})


def count_notes(db: sqlite3.Connection, wanted: Filter) -> int:
    query = f"SELECT count(*) FROM memories AS m WHERE {wanted.sql}"
    (count,) = db.execute(query, wanted.values).fetchone()
    return int(count)


def stats(db: sqlite3.Connection) -> StoreStats:
    by_type, by_project, by_scope = Counter[str](), Counter[str](), Counter[str]()
    rows = db.execute(
        "SELECT project, type, scope, count(*) FROM memories WHERE deleted_at IS NULL GROUP BY project, type, scope"
    )
    for project, kind, scope, count in rows:
        by_type[kind] += count
        by_project[project] += count
        by_scope[scope] += count
    return StoreStats(by_type.total(), dict(by_type), dict(by_project), dict(by_scope))


def activity(db: sqlite3.Connection, since: str) -> dict[str, int]:
    return dict(
        db.execute(
            "SELECT substr(created_at, 1, 10) AS day, count(*) FROM memories"
            " WHERE created_at >= :since AND deleted_at IS NULL GROUP BY day ORDER BY day",
            {"since": since},
        )
    )


def hashes(db: sqlite3.Connection, hidden: bool) -> dict[str, bytes]:
    live = "" if hidden else "WHERE memory_id IN (SELECT id FROM memories WHERE deleted_at IS NULL)"
    return dict(db.execute(f"SELECT memory_id, hash FROM standing_files {live}").fetchall())


def file_hashes(db: sqlite3.Connection) -> list[bytes]:
    """The hashes of all files that hold notes."""
    return [hash for (hash,) in db.execute("SELECT DISTINCT hash FROM files WHERE memory_id IS NOT NULL")]


def seen(db: sqlite3.Connection, paths: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Size and mtime of these files when they were indexed; files that are not in the index are left out."""
    names: dict[str, list[str]] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        names.setdefault(folder, []).append(name)
    query = (
        "SELECT name, size, mtime_ns FROM files WHERE folder = (SELECT number FROM folders WHERE path = :folder)"
        " AND name IN (SELECT value FROM json_each(:names))"
    )
    return {
        f"{folder}/{name}": (size, mtime_ns)
        for folder, some in names.items()
        for name, size, mtime_ns in db.execute(query, {"folder": folder, "names": json.dumps(some)})
    }


def is_known(db: sqlite3.Connection, path: str, hash: bytes) -> bool:
    """Whether a file is in the index with this hash."""
    folder, _, name = path.rpartition("/")
    row = db.execute(
        "SELECT 1 FROM files WHERE folder = (SELECT number FROM folders WHERE path = :folder) AND name = :name"
        " AND hash = :hash",
        {"folder": folder, "name": name, "hash": hash},
    ).fetchone()
    return row is not None


def has_marks(db: sqlite3.Connection) -> bool:
    """Whether any note has marks. In most memories none has, which saves the other queries about them."""
    return db.execute("SELECT 1 FROM marks LIMIT 1").fetchone() is not None


def linking(db: sqlite3.Connection, ids: Iterable[str]) -> set[str]:
    """The notes whose marks name one of these."""
    if not has_marks(db):
        return set()
    query = "SELECT memory_id FROM marks WHERE value IN (SELECT value FROM json_each(:ids))"
    return {id for (id,) in db.execute(query, {"ids": json.dumps(list(ids))})}


def outdated_ids(db: sqlite3.Connection) -> set[str]:
    """The notes that a newer one outdates, except for pairs that outdate each other."""
    if not has_marks(db):
        return set()
    rows = db.execute(
        "WITH older (id, newer) AS (SELECT memory_id, value FROM marks WHERE name = 'updated_by'"
        " UNION SELECT value, memory_id FROM marks WHERE name = 'updates')"
        " SELECT older.id, newer FROM older CROSS JOIN memories AS m ON m.id = newer"
        f" WHERE m.deleted_at IS NULL AND {NOT_SUPERSEDED} AND hides(newer)"
    )
    pairs = {(id, newer) for id, newer in rows}
    return {id for id, newer in pairs if (newer, id) not in pairs}


def superseding(db: sqlite3.Connection, ids: Iterable[str]) -> dict[str, str]:
    rows = db.execute(
        "SELECT superseded_id, max(memory_id) FROM supersessions"
        " WHERE superseded_id IN (SELECT value FROM json_each(:ids)) AND hides(memory_id) GROUP BY superseded_id",
        {"ids": json.dumps(list(ids))},
    )
    return dict(rows.fetchall())


def supersessions(db: sqlite3.Connection, ids: Iterable[str]) -> dict[str, set[str]]:
    """The ids that each note supersedes, for all notes linked to these by supersessions, directly or indirectly."""
    rows = db.execute(
        "WITH RECURSIVE near (id) AS (SELECT value FROM json_each(:ids)"
        " UNION SELECT superseded_id FROM near JOIN supersessions ON memory_id = near.id WHERE hides(memory_id)"
        " UNION SELECT memory_id FROM near JOIN supersessions ON superseded_id = near.id WHERE hides(memory_id))"
        " SELECT memory_id, superseded_id FROM near JOIN supersessions ON memory_id = near.id WHERE hides(memory_id)",
        {"ids": json.dumps(list(ids))},
    )
    found: dict[str, set[str]] = {}
    for memory_id, superseded_id in rows:
        found.setdefault(memory_id, set()).add(superseded_id)
    return found


def superseded_ids(db: sqlite3.Connection) -> set[str]:
    return {id for (id,) in db.execute("SELECT superseded_id FROM supersessions WHERE hides(memory_id)")}


def hiders_in_doubt(db: sqlite3.Connection, others: Iterable[str]) -> list[Memory]:
    """The notes that supersede or outdate others, and that were imported, are held, name a space or are `others`."""
    return _whole_notes(
        db,
        "m.id IN (SELECT memory_id FROM supersessions UNION SELECT memory_id FROM marks WHERE name = 'updates'"
        " UNION SELECT value FROM marks WHERE name = 'updated_by') AND (m.prov_source = 'import'"
        " OR m.rest LIKE '%space: %' OR m.id IN (SELECT value FROM json_each(:others))"
        " OR EXISTS (SELECT 1 FROM marks WHERE memory_id = m.id AND name = 'held'))",
        {"others": json.dumps([*others])},
    )
