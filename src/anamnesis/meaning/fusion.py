"""The score of a note for a query: how close it is in meaning, and how much of the query's words it holds. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul

import numpy as np
from numpy.typing import NDArray

from anamnesis.meaning.model import Vectors

# The weight of the words, and how fast it falls where one note stands out by its meaning. Fitted to this model.
_WORDS = 4.0
_FALL = 0.8
# The share of a note's own BM25; the rest is that of its best passage.
_NOTE = 0.7
# How much of the advantage that many passages give by chance is taken from a note.
_CHANCE = 0.25
# The most that one word adds to BM25, in units of its inverse document frequency: k1 + 1.
_SATURATION = 2.2
# How close this model finds a note that has nothing to do with the query, on average, and how many such notes count.
_AVERAGE, _SPREAD, _AVERAGE_NOTES = 0.47, 0.06, 20
# The logit of `fit`: a constant, and the weights of its arguments. `python -m bench.fit` fits them to LoCoMo: hits with
# the evidence of a question, against hits of questions about other conversations and about code. Standing out counts
# against a note: at the same closeness, other notes have less to do with the query. The last weight is set, not fitted,
# as LoCoMo has no short queries: `kubernetes` fits a note about kubectl, and 4 % of random words fit one of 500 notes.
_FIT = (-25.7, 37.1, -0.61, 8.9, 3.5)
_EVERY_WORD, _EVEN = 0.999, 0.5


def closeness(cosines: Vectors, starts: NDArray[np.int64]) -> Vectors:
    """How close each note is: the cosine of its best passage, less the advantage of having several passages.

    `cosines` are those of all passages; a note's passages begin at its place in `starts`.
    """
    counts = np.diff(starts, append=len(cosines))
    best: Vectors = np.maximum.reduceat(cosines, starts)
    best -= np.float32(_CHANCE * cosines.std()) * np.sqrt(2 * np.log(counts, dtype=np.float32))
    return best


def likeness(cosines: Vectors, starts: NDArray[np.int64]) -> Vectors:
    """How close each note is to another one: for each of its passages, in a column, the best cosine; their mean."""
    found: Vectors = np.maximum.reduceat(cosines, starts).mean(1)
    return found


def fused(close: Vectors, of_note: Vectors, of_passage: Vectors, holders: Sequence[int], total: int = 0) -> Vectors:
    """The scores of notes. `of_note` and `of_passage` are their BM25, 0 without a word of the query.

    `holders` says how many notes hold each of the query's words, of the `total` that BM25 is computed over if those are
    more than are searched.
    """
    by_note, by_passage = weights(close, holders, total)
    words = np.float32(by_note) * of_note
    words += np.float32(by_passage) * of_passage
    words += close
    return words


def weights(close: Vectors, holders: Sequence[int], total: int = 0) -> tuple[float, float]:
    """What a BM25 of 1 adds to a score: that of a note, and that of its best passage.

    Where the best note stands out by its meaning, words weigh less; where no note does, they decide.
    """
    held = np.asarray(holders, np.float64)
    ideal = _SATURATION * float(np.log(1 + (max(total, len(close)) - held + 0.5) / (held + 0.5)).sum())
    if not len(close) or ideal <= 0:
        return 0.0, 0.0
    outstanding = float(close.max() - close.mean()) / (float(close.std()) + 1e-6)
    weight = _WORDS * math.sqrt(len(held)) * math.exp(-_FALL * outstanding) / ideal
    return weight * _NOTE, weight * (1 - _NOTE)


def background(close: Vectors) -> tuple[float, float]:
    """The mean and the spread of how close notes are to a query that they have nothing to do with.

    A few notes say little of either, so some average ones are counted with them.
    """
    total = len(close) + _AVERAGE_NOTES
    mean = (float(close.sum()) + _AVERAGE_NOTES * _AVERAGE) / total
    squares = float(((close - mean) ** 2).sum()) + _AVERAGE_NOTES * (_SPREAD**2 + (_AVERAGE - mean) ** 2)
    return mean, math.sqrt(squares / total)


def fit(closeness: float, outstanding: float, coverage: float, brevity: float) -> float:
    """The probability that a note answers a query.

    It depends on how close the note is, by how many spreads more than others, on the part of the query's weight that
    its words cover, and on how short the query is: one over the number of its words. A note that holds every word of it
    may not be weak.
    """
    logit = sum(map(mul, _FIT, (1.0, closeness, outstanding, coverage, brevity)))
    probability = 1 / (1 + math.exp(-min(max(logit, -30.0), 30.0)))
    return max(probability, _EVEN) if coverage >= _EVERY_WORD else probability
