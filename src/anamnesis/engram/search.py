"""The search over observations: exact topic keys first, then words, ranked by BM25 as FTS5 computes it."""

from __future__ import annotations

import sqlite3

from anamnesis.engram import normal, projects
from anamnesis.engram.observations import COLUMNS
from anamnesis.engram.record import SearchResult
from anamnesis.engram.strings import fields, valid

DEFAULT_LIMIT = 10
MOST_RESULTS = 20
# A word said twice counts twice. In a pasted page it would cost as often, and "the" is in every row.
_MOST_REPEATING = 64
# The rank of an observation whose topic key was asked for.
_TOPIC_RANK = -1000.0

# Each condition is a look into one of Engram's narrow indexes, made for every hit: a row is read only once it is
# known to be among the best. Engram begins at the other end, and searches once for each observation there is.
_CONDITIONS = {
    "project": "AND EXISTS (SELECT 1 FROM observations INDEXED BY idx_obs_project"
    " WHERE project = :project AND id = observations_fts.rowid)",
    "type": "AND EXISTS (SELECT 1 FROM observations INDEXED BY idx_obs_type"
    " WHERE type = :type AND id = observations_fts.rowid)",
    "scope": "AND EXISTS (SELECT 1 FROM observations INDEXED BY idx_obs_scope"
    " WHERE scope = :scope AND id = observations_fts.rowid)",
    "live": "AND EXISTS (SELECT 1 FROM observations INDEXED BY idx_obs_deleted"
    " WHERE deleted_at IS NULL AND id = observations_fts.rowid)",
}


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
    """The live observations that hold all words of the query, or any of them, best first.

    A blank query finds nothing. Of a query that is a topic key, the observations of that topic come first.
    """
    wanted = {
        "project": projects.normalise(project),
        "type": valid(type),
        "scope": normal.scope(scope) if scope else "",
    }
    limit = min(limit, MOST_RESULTS) if limit > 0 else DEFAULT_LIMIT
    values: dict[str, str | int] = {**wanted, "limit": limit}
    filters = [name for name, value in wanted.items() if value]
    found = _of_topic(db, valid(query), filters, values) if "/" in query else []
    if match := match_expression(query, match_any):
        known = {result.id for result in found}
        found += (result for result in _matching(db, match, filters, values) if result.id not in known)
    return found[:limit]


def match_expression(query: str, match_any: bool = False) -> str:
    """The words of a query as FTS5 reads them: each a string in quotes, so that nothing in it is an operator."""
    words = [word.strip('"').replace('"', '""').replace("\0", " ") for word in fields(valid(query))]
    if len(words) > _MOST_REPEATING:
        words = list(dict.fromkeys(words))
    return (" OR " if match_any else " ").join(f'"{word}"' for word in words)


def _of_topic(db: sqlite3.Connection, key: str, filters: list[str], values: dict[str, str | int]) -> list[SearchResult]:
    conditions = " ".join(f"AND {name} = :{name}" for name in filters)
    rows = db.execute(
        f"SELECT {COLUMNS}, {_TOPIC_RANK} FROM observations INDEXED BY idx_obs_topic"
        f" WHERE topic_key = :key AND deleted_at IS NULL {conditions}"
        " ORDER BY updated_at DESC, project, scope, id LIMIT :limit",
        {**values, "key": key},
    )
    return [SearchResult(*row) for row in rows]


def _matching(
    db: sqlite3.Connection, match: str, filters: list[str], values: dict[str, str | int]
) -> list[SearchResult]:
    conditions = " ".join(_CONDITIONS[name] for name in (*filters, "live"))
    rows = db.execute(
        f"SELECT {COLUMNS}, hit.rank FROM (SELECT rowid AS number, bm25(observations_fts) AS rank FROM observations_fts"
        f" WHERE observations_fts MATCH :match {conditions} ORDER BY rank, number LIMIT :limit) AS hit"
        " CROSS JOIN observations ON id = hit.number ORDER BY hit.rank, hit.number",
        {**values, "match": match},
    )
    return [SearchResult(*row) for row in rows]
