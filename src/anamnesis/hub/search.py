"""Search within what a caller may see: words by BM25, with the frequencies of the spaces that are searched.

A word of many notes costs as much as all others together and says least. So rare words find the notes, and common ones
count for those; where a query has no rare word, notes are found that hold two of its words or have one in the title.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from anamnesis.hub.database import Connection
from anamnesis.hub.passages import is_prepared
from anamnesis.hub.words import cut
from anamnesis.recall.identifiers import split_query
from anamnesis.recall.pruning import QueryWord, head_deciding, head_within, rarest_first
from anamnesis.recall.query import Mode, query_terms

MOST_HITS = 100
# Terms that are scored; the rarest of a longer query.
_MOST_TERMS = 32
# Words that together are in no more notes are rare: all of these notes are scored.
_FEW_NOTES = 600
# Commoner words are looked for two by two and in titles, if the index has no more entries of them together; up to so
# many notes of each kind are scored. With these numbers a search of a space of 170,000 notes takes 11 ms of CPU.
_MOST_ENTRIES, _REACH = 20_000, 300
# What the k-th best note usually scores, in weights of the rarest word.
_LIKELY_SCORE = 1.6


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
    words = counted.words
    if not words or not k:
        return []
    rare, common = _finding(words, counted.total, k)
    rows = db.execute(
        """
        SELECT * FROM anamnesis.search_words(%(terms)s, %(weights)s, %(rare)s, %(common)s, %(reach)s, %(average)s,
            %(spaces)s, %(projects)s, %(type)s, %(most)s)
        """,
        {
            "terms": [word.text for word in words],
            "weights": [word.times * rarity(word.notes, counted.total) for word in words],
            "rare": rare,
            "common": common,
            "reach": _REACH,
            "average": counted.average,
            "spaces": as_list(wanted.spaces),
            "projects": as_list(wanted.projects),
            "type": wanted.type,
            "most": k,
        },
    )
    return [
        Found(row["space"], row["id"], row["score"], frozenset(words[place - 1].text for place in row["held"]))
        for row in rows
    ]


def _finding(words: Sequence[QueryWord], total: int, k: int) -> tuple[int, int]:
    """How many of the rarest words find notes by themselves, and how many after them two by two or in a title."""
    rare = head_within(words, _FEW_NOTES)
    held = sum(word.notes for word in words[:rare])
    if rare and held >= k and head_deciding(words, total, _LIKELY_SCORE * words[0].weight(total)) <= rare:
        return rare, 0  # what the other words add is less than the best notes usually score
    return rare, head_within(words, _MOST_ENTRIES) - rare


def rarity(notes: int, total: int) -> float:
    """The inverse document frequency of a word that this many of `total` notes hold; more than 0 for any."""
    return math.log(1 + (max(total, notes) - notes + 0.5) / (notes + 0.5))


def as_list(values: Sequence[Any] | None) -> list[Any] | None:
    return None if values is None else list(values)
