"""Notes that hold the words of a query as parts of identifiers; the search by words appends them to its hits."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from anamnesis.recall.identifiers import split_query
from anamnesis.recall.pruning import any_term
from anamnesis.store.queries import NOT_SUPERSEDED, Filter

if TYPE_CHECKING:
    from anamnesis.store.index import Connection

# A query of more words does not name an identifier.
_MOST_WORDS = 12


def by_parts(
    db: Connection, query: str, wanted: Filter, k: int, without: Collection[int]
) -> list[tuple[float, str, str, int]]:
    """At most k notes that hold every word of the query, whole or as parts, then those that hold every part of an
    identifier that it names; the newest first. Their BM25 is 0, because they hold none of its terms.
    """
    words, _, named = split_query(query)
    if len(words) > _MOST_WORDS:
        return []
    parts = {word: _holding(db, "memory_parts", word) for word in words if " " not in word}
    if not named and not any(parts.values()):
        return []
    groups = list(words), *named
    for word in {word for group in groups for word in group} - parts.keys():
        parts[word] = set() if " " in word else _holding(db, "memory_parts", word)
    held = {word: numbers | _holding(db, "memories_fts", word) for word, numbers in parts.items()}
    found: dict[int, tuple[float, str, str, int]] = {}
    for group in groups:
        numbers = set.intersection(*(held[word] for word in group)).difference(without, found)
        found |= {row[3]: row for row in _newest(db, numbers, wanted, k - len(found))}
    return list(found.values())


def _holding(db: Connection, table: str, word: str) -> set[int]:
    rows = db.execute(f"SELECT rowid FROM {table} WHERE {table} MATCH :match", {"match": any_term([word])})
    return {number for (number,) in rows}


def _newest(
    db: Connection, numbers: Collection[int], wanted: Filter, limit: int
) -> Sequence[tuple[float, str, str, int]]:
    if not numbers or limit <= 0:
        return []
    return db.execute(
        "SELECT 0.0, m.updated_at, m.id, m.number FROM memories AS m"
        f" WHERE m.number IN (SELECT value FROM json_each(:numbers)) AND {wanted.sql}"
        f" AND {NOT_SUPERSEDED}"
        " ORDER BY m.updated_at DESC, m.id DESC LIMIT :limit",
        {"numbers": json.dumps(list(numbers)), "limit": limit, **wanted.values},
    ).fetchall()
