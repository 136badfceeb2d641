"""Which notes name something: an index lookup of phrases, without a ranking."""

from __future__ import annotations

from collections.abc import Sequence

from anamnesis.store.index import Connection
from anamnesis.store.projects import by_any_name
from anamnesis.store.queries import Filter

_AT_ONCE = 100


def ids_of(db: Connection, project: str, names: Sequence[str] | None = None) -> list[str]:
    """The ids of a project's notes, by any of its names; only of those that hold one of `names` as a phrase, if given.

    A phrase matches by its words, so notes with another spelling of the name are included.
    """
    wanted = by_any_name(db, Filter(project))
    query = f"SELECT m.id FROM memories AS m WHERE {wanted.sql}"
    if names is None:
        return [id for (id,) in db.execute(query, wanted.values)]
    query += " AND m.number IN (SELECT rowid FROM memories_fts WHERE memories_fts MATCH :phrases)"
    phrases = ['"{}"'.format(name.replace('"', '""')) for name in names if any(map(str.isalnum, name))]
    found = {
        id
        for start in range(0, len(phrases), _AT_ONCE)
        for (id,) in db.execute(
            query, {**wanted.values, "phrases": " OR ".join(phrases[start : start + _AT_ONCE]).replace("\0", " ")}
        )
    }
    return sorted(found)
