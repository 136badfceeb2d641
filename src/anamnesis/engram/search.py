"""Searches observations: exact topic keys first, then words ranked by FTS5's BM25."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from typing import TypedDict

from anamnesis.engram import normal, projects
from anamnesis.engram.observations import COLUMNS
from anamnesis.engram.record import SearchResult
from anamnesis.engram.strings import fields, valid

DEFAULT_LIMIT = 10
MOST_RESULTS = 20
# A repeated word counts twice. In a long pasted text, repetitions would only cost time.
_MOST_REPEATING = 64
# The rank of an exact topic key.
_TOPIC_RANK = -1000.0

# The best hits are usually live and match the filters: this many more than needed are read before all hits are
# filtered.
_SLACK = 64

# A note without a project is found in every project. Its sync_id has 32 digits, Engram's own have 16: rows that Engram
# saved without a project are not found by one.
_OF_EVERY_PROJECT = "(project IS NULL AND length(sync_id) = 36)"

# No other observation supersedes it.
_IS_VALID = (
    "+rowid NOT IN (SELECT id FROM observations INDEXED BY anamnesis_obs_superseded WHERE superseded_by IS NOT NULL)"
)


class Filters(TypedDict):
    """The filters of a search, and how many results it may have."""

    type: str
    project: str
    scope: str
    limit: int


# Finds observations in another way, if none has all words of a query.
Recall = Callable[[sqlite3.Connection, str, Filters], list[SearchResult]]


def search(
    db: sqlite3.Connection,
    query: str,
    *,
    type: str = "",
    project: str = "",
    scope: str = "",
    limit: int = 0,
    match_any: bool = False,
) -> list[SearchResult]:
    """The live, not superseded observations with all words of the query, or any, best first.

    A blank query finds nothing. If the query is a topic key, that topic's observations come first.
    """
    filters, wanted, limit = _wanted(db, type, project, scope, limit)
    values = {**wanted, "limit": limit, "key": valid(query), "match": match_expression(query, match_any)}
    found = _of_topic(db, filters, values) if "/" in query else []
    known = {result.id for result in found}
    if values["match"]:
        found += (result for result in _matching(db, filters, values) if result.id not in known)
    return found[:limit]


def only(db: sqlite3.Connection, ranks: Mapping[int, float], given: Filters) -> list[SearchResult]:
    """Those of the observations, with their given ranks, that match the filters, the best first."""
    filters, wanted, limit = _wanted(db, **given)
    rows = db.execute(
        f"SELECT {COLUMNS} FROM observations WHERE id IN (SELECT value FROM json_each(:ids))"
        f" AND deleted_at IS NULL AND superseded_by IS NULL {_on_row(filters)}",
        {**wanted, "ids": json.dumps([*ranks])},
    )
    found = [SearchResult(*(*row, ranks[row[0]])) for row in rows]
    return sorted(found, key=lambda result: (result.rank, result.id))[:limit]


def _wanted(
    db: sqlite3.Connection, type: str, project: str, scope: str, limit: int
) -> tuple[list[str], dict[str, str], int]:
    """The names of the filters that are set, the values of all, and the number of results."""
    wanted = {
        "project": projects.meant(db, project),
        "type": valid(type),
        "scope": normal.scope(scope) if scope else "",
    }
    filters = [name for name, value in wanted.items() if value]
    return filters, wanted, min(limit, MOST_RESULTS) if limit > 0 else DEFAULT_LIMIT


def match_expression(query: str, match_any: bool = False) -> str:
    """The words of a query as quoted FTS5 strings, so that none is an operator."""
    words = [word.strip('"').replace('"', '""').replace("\0", " ") for word in fields(valid(query))]
    if len(words) > _MOST_REPEATING:
        words = list(dict.fromkeys(words))
    return (" OR " if match_any else " ").join(f'"{word}"' for word in words)


def _of_topic(db: sqlite3.Connection, filters: list[str], values: dict[str, object]) -> list[SearchResult]:
    rows = db.execute(
        f"SELECT {COLUMNS}, {_TOPIC_RANK} FROM observations INDEXED BY idx_obs_topic"
        f" WHERE topic_key = :key AND deleted_at IS NULL AND superseded_by IS NULL {_on_row(filters)}"
        " ORDER BY updated_at DESC, project, scope, id LIMIT :limit",
        values,
    )
    return [SearchResult(*row) for row in rows]


def _matching(db: sqlite3.Connection, filters: list[str], values: dict[str, object]) -> list[SearchResult]:
    """The best hits. Engram joins in the other order and searches once per observation."""
    for narrowing, slack in (("", _SLACK), (_on_hit(filters), 0)):
        rows = db.execute(
            f"SELECT {COLUMNS}, hit.rank FROM (SELECT rowid AS number, bm25(observations_fts) AS rank"
            f" FROM observations_fts WHERE observations_fts MATCH :match {narrowing}"
            " ORDER BY rank, number LIMIT :limit + :slack) AS hit CROSS JOIN observations ON id = hit.number"
            f" WHERE deleted_at IS NULL AND superseded_by IS NULL {_on_row(filters)}"
            " ORDER BY hit.rank, hit.number LIMIT :limit",
            {**values, "slack": slack},
        ).fetchall()
        if len(rows) == values["limit"]:
            break
    return [SearchResult(*row) for row in rows]


def _on_row(filters: list[str]) -> str:
    conditions = {name: f"{name} = :{name}" for name in filters}
    if "project" in conditions:
        conditions["project"] = f"(project = :project OR {_OF_EVERY_PROJECT})"
    return " ".join(f"AND {condition}" for condition in conditions.values())


def _on_hit(filters: list[str]) -> str:
    """The filters as lookups in Engram's narrow indexes, so that only the rows of the best hits are read."""
    conditions = {**{name: [f"{name} = :{name}"] for name in filters}, "deleted": ["deleted_at IS NULL"]}
    if "project" in conditions:
        conditions["project"].append(_OF_EVERY_PROJECT)
    looks = (
        " OR ".join(
            f"EXISTS (SELECT 1 FROM observations INDEXED BY idx_obs_{index}"
            f" WHERE {condition} AND id = observations_fts.rowid)"
            for condition in either
        )
        for index, either in conditions.items()
    )
    return f"AND {_IS_VALID} {' '.join(f'AND ({look})' for look in looks)}"
