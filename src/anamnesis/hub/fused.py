"""The search by words and meaning together, by the rule of the local search, of the notes that either finds.

How close notes usually are is estimated from some passages of the spaces: comparing all of them would take longer than
the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from anamnesis.hub.database import Connection
from anamnesis.hub.passages import written
from anamnesis.hub.search import Counted, Found, Wanted, as_list, best, count, rarity
from anamnesis.meaning.fusion import COMPLETE, average, fit, weights_at, without_chance
from anamnesis.meaning.model import Model, Vectors, load
from anamnesis.recall.query import query_terms
from anamnesis.store.fused import LEAST_CLOSE, LEAST_FIT, SHORT

# Candidates beyond the k best of each kind.
_FURTHER = 24
# Passages that are looked for, for each note: a note may have several, and superseded ones are left out.
_PASSAGES = 4
# Up to this many passages are compared one by one.
EXACT = 10_000
# As for the local search: notes about one topic.
_RELATED = 0.62

_Key = tuple[int, str]


class _Usual(NamedTuple):
    """How close the notes of the spaces usually are to the query."""

    cosines: Vectors

    @property
    def mean(self) -> float:
        return float(self.cosines.mean()) if len(self.cosines) else 0.0

    @property
    def spread(self) -> float:
        return float(self.cosines.std()) + 1e-6 if len(self.cosines) else 1.0


def by_meaning(
    db: Connection, query: str, wanted: Wanted, k: int, *, words: bool = True, exact: int = EXACT
) -> list[Found]:
    """The k best notes. A note without a word of the query has to be close to it; one that is not embedded yet is as
    close as the average.
    """
    counted = count(db, query_terms(query).terms, wanted)
    held = {(each.space, each.id): each for each in best(db, counted, wanted, k + _FURTHER)}
    vector = written(_model().query(query))
    near = closest(db, vector, wanted, k + _FURTHER, exact)
    keys = list(dict.fromkeys([*near, *held]))
    if not keys:
        return []
    close, embedded, usual = _compared(db, vector, wanted, keys)
    of_note = np.array([held[key].score if key in held else 0.0 for key in keys], np.float32)
    score = close.copy()
    if words:
        by = weights_at(
            (float(close.max()) - usual.mean) / usual.spread, counted.total, _holders(counted), counted.total
        )
        score = by.scores(close, of_note, of_note)
        every = len(counted.words)
        score += np.array([COMPLETE * (key in held and len(held[key].held) == every > 0) for key in keys], np.float32)
    order = sorted(range(len(keys)), key=lambda place: -float(score[place]))
    has_phrase = '"' in query
    found = []
    for place in order:
        key = keys[place]
        said = held[key].held if key in held else frozenset[str]()
        fits = _fit(counted, said, float(close[place]), usual) if embedded[place] else None
        least = LEAST_FIT if len(counted.words) <= SHORT else 0.0
        is_near = close[place] >= LEAST_CLOSE and (fits or 0.0) >= least
        if said or (fits is not None and not has_phrase and is_near):
            found.append(Found(key[0], key[1], float(score[place]), said, fits))
    return found[:k]


def like(db: Connection, space: int, id: str, wanted: Wanted, k: int) -> list[Found]:
    """The k notes that are closest to a note, without those about something else."""
    rows = db.execute("SELECT * FROM anamnesis.vectors_of(%(space)s, %(id)s) AS vector", {"space": space, "id": id})
    vectors = [np.array([float(value) for value in row["vector"][1:-1].split(",")], np.float32) for row in rows]
    if not vectors:
        return []
    mean = np.mean(vectors, axis=0)
    vector = written(mean / np.linalg.norm(mean))
    keys = [key for key in closest(db, vector, wanted, k + 1, EXACT) if key != (space, id)][:k]
    close, _, _ = _compared(db, vector, wanted, keys)
    return [
        Found(key[0], key[1], float(score), frozenset())
        for key, score in zip(keys, close, strict=True)
        if score >= _RELATED
    ]


def closest(db: Connection, vector: str, wanted: Wanted, k: int, exact: int) -> list[_Key]:
    """The k closest notes; all, if there are fewer."""
    found: list[_Key] = []
    for reach, upto in ((_PASSAGES * k, exact), (_PASSAGES * k, None), (None, None)):
        rows = db.execute(
            "SELECT * FROM anamnesis.near(%(query)s, %(spaces)s, %(projects)s, %(type)s, %(reach)s, %(exact)s)",
            {
                "query": vector,
                "spaces": as_list(wanted.spaces),
                "projects": as_list(wanted.projects),
                "type": wanted.type,
                "reach": reach,
                "exact": upto,
            },
        ).fetchall()
        found = list(dict.fromkeys((row["space"], row["id"]) for row in rows))[:k]
        if len(found) == k or (rows and rows[0]["is_all"]):
            break
    return found


def _compared(db: Connection, vector: str, wanted: Wanted, keys: Sequence[_Key]) -> tuple[Vectors, list[bool], _Usual]:
    """How close each of the notes is, whether it is embedded, and what is usual."""
    first, *rows = db.execute(
        "SELECT * FROM anamnesis.compare(%(query)s, %(wanted)s, %(spaces)s, %(ids)s)",
        {
            "query": vector,
            "wanted": as_list(wanted.spaces),
            "spaces": [space for space, _ in keys],
            "ids": [id for _, id in keys],
        },
    ).fetchall()
    usual = _Usual(np.array(first["usual"], np.float32))
    known = {(row["space"], row["id"]): row for row in rows}
    cosines = np.array([known[key]["cosine"] if key in known else usual.mean for key in keys], np.float32)
    counts = np.array([known[key]["passages"] if key in known else 1 for key in keys], np.int64)
    return without_chance(cosines, counts, usual.spread), [key in known for key in keys], usual


def _fit(counted: Counted, said: frozenset[str], close: float, usual: _Usual) -> float:
    weights = {word.text: rarity(word.notes, counted.total) for word in counted.words}
    coverage = sum(weights[word] for word in said if word in weights) / (sum(weights.values()) or 1.0)
    return fit(close, average(usual.cosines), coverage, counted.total)


def _holders(counted: Counted) -> list[int]:
    return [word.notes for word in counted.words]


@cache
def _model() -> Model:
    return load()
