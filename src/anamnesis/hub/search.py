"""Search within what a caller may see: words by BM25, with the frequencies of the spaces that are searched.

The score of the k-th best note is estimated, and the notes that can reach it are scored. If the k-th best of those does
reach it, the ranking is exact; otherwise the search is repeated with the score that was found.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from anamnesis.hub.candidates import Term, entries, likely_score, matching
from anamnesis.hub.database import Connection
from anamnesis.hub.passages import is_prepared
from anamnesis.hub.words import cut
from anamnesis.recall.identifiers import split_query
from anamnesis.recall.pruning import QueryWord, rarest_first
from anamnesis.recall.query import Mode, query_terms

MOST_HITS = 100
# Terms that are scored; the rarest of a longer query.
_MOST_TERMS = 32
# The first estimate is the score that this many times k notes are expected to reach, without and with filters.
_SPARE, _SPARE_FILTERED = 2, 40
# The most notes of a space that are scored at once, and the most entries of the index that are read for them. If all
# words are so common that more would be read, the newest notes are scored.
_REACH, _MOST_ENTRIES = 2_000, 60_000


class Wanted(NamedTuple):
    """Which notes are searched: those of some spaces, of a project by all of its names, of a type; None for any."""

    spaces: Sequence[int] | None = None
    projects: Sequence[str] | None = None
    type: str | None = None


class Found(NamedTuple):
    """A note that a search found."""

    space: int
    id: str
    score: float
    held: frozenset[str]
    fit: float | None = None


class Counted(NamedTuple):
    """What a query asks for: its terms as stems, the rarest first, of the notes of the spaces that are searched."""

    words: list[QueryWord]
    total: int
    average: float


def search(db: Connection, query: str, wanted: Wanted, k: int, mode: Mode = "fused") -> list[Found]:
    """The k best notes by words and meaning, or as `mode` says; by words where the database has no pgvector."""
    # Every search runs the same statements, and planning them takes longer than running them.
    db.execute("SET LOCAL plan_cache_mode = force_generic_plan")
    if mode == "words" or not query_terms(query).terms or not is_prepared(db):
        return by_words(db, query, wanted, k)
    from anamnesis.hub.fused import by_meaning  # numpy

    return by_meaning(db, query, wanted, k, words=mode == "fused")


def related(db: Connection, space: int, id: str, wanted: Wanted, k: int) -> list[Found]:
    """The k notes that are closest in meaning to a note; none where nothing is compared."""
    if not is_prepared(db):
        return []
    from anamnesis.hub.fused import like

    return like(db, space, id, wanted, k)


def by_words(db: Connection, query: str, wanted: Wanted, k: int) -> list[Found]:
    """The k best notes by words, the newest first on a tie, superseded ones left out.

    Where fewer than k hold a term of the query, notes follow that hold the parts of its identifiers.
    """
    found = best(db, count(db, query_terms(query).terms, wanted), wanted, k)
    parts = split_query(query)
    if len(found) < k and parts.named:
        known = {(each.space, each.id) for each in found}
        more = best(db, count(db, parts.words, wanted), wanted, k)
        found += [each._replace(score=0.0) for each in more if (each.space, each.id) not in known]
    return found[:k]


def count(db: Connection, terms: Mapping[str, int], wanted: Wanted) -> Counted:
    """The terms that any note of the spaces holds, as stems, with the numbers of these notes."""
    given = [(" ".join(cut(term)), times) for term, times in terms.items() if cut(term)]
    rows = db.execute(
        "SELECT * FROM anamnesis.count_terms(%(terms)s, %(spaces)s)",
        {"terms": [term for term, _ in given], "spaces": as_list(wanted.spaces)},
    ).fetchall()
    known: dict[str, QueryWord] = {}
    for row in rows:
        times = given[row["number"] - 1][1] + (known[row["stems"]].times if row["stems"] in known else 0)
        known[row["stems"]] = QueryWord(row["stems"], times, row["notes"])
    total, words = (rows[0]["total"], rows[0]["words"]) if rows else (0, 0)
    there = [word for word in known.values() if word.notes]
    return Counted(rarest_first(there)[:_MOST_TERMS], total, max(words / max(total, 1), 1.0))


def best(db: Connection, counted: Counted, wanted: Wanted, k: int) -> list[Found]:
    """The k best notes by these words."""
    if not counted.words or not k:
        return []
    terms = [Term(word.text, word.times * rarity(word.notes, counted.total), word.notes) for word in counted.words]
    is_filtered = wanted.projects is not None or wanted.type is not None
    spare = k * (_SPARE_FILTERED if is_filtered else _SPARE)
    found: list[Found] = []
    query = None
    for least in (likely_score(terms, counted.total, spare, _REACH), likely_score(terms, counted.total, spare), 0.0):
        query = _query(terms, least, counted.average)
        found = _merged(_scored(db, query, terms, counted.average, wanted, k), found)[:k]
        if len(found) == k:
            break
    if len(found) == k and found[-1].score < least:
        closer = _query(terms, found[-1].score, counted.average)
        if closer != query:
            found = _merged(_scored(db, closer, terms, counted.average, wanted, k), found)[:k]
    return found


def _query(terms: Sequence[Term], least: float, average: float) -> str | None:
    """The query for the notes that can reach a score; None if it would read too much of the index."""
    return matching(terms, least, average) if entries(terms, least) <= _MOST_ENTRIES else None


def _merged(found: Sequence[Found], before: Sequence[Found]) -> list[Found]:
    """Both, the best first."""
    known = {(each.space, each.id) for each in found}
    more = [each for each in before if (each.space, each.id) not in known]
    return sorted([*found, *more], key=lambda each: -each.score) if more else [*found]


def _scored(
    db: Connection, query: str | None, terms: Sequence[Term], average: float, wanted: Wanted, k: int
) -> list[Found]:
    """The k best of the notes that match a query, or of the newest without one."""
    rows = db.execute(
        """
        SELECT * FROM anamnesis.search_words(%(query)s, %(terms)s, %(weights)s, %(average)s, %(spaces)s, %(projects)s,
            %(type)s, %(most)s, %(reach)s)
        """,
        {
            "query": query,
            "terms": [term.text for term in terms],
            "weights": [term.weight for term in terms],
            "average": average,
            "spaces": as_list(wanted.spaces),
            "projects": as_list(wanted.projects),
            "type": wanted.type,
            "most": k,
            "reach": _REACH,
        },
    )
    return [
        Found(row["space"], row["id"], row["score"], frozenset(terms[place - 1].text for place in row["held"]))
        for row in rows
    ]


def rarity(notes: int, total: int) -> float:
    """The inverse document frequency of a word that this many of `total` notes hold; more than 0 for any."""
    return math.log(1 + (max(total, notes) - notes + 0.5) / (notes + 0.5))


def as_list(values: Sequence[Any] | None) -> list[Any] | None:
    return None if values is None else list(values)
