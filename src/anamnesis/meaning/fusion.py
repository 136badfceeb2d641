"""The score of a note for a query: how close it is in meaning, and how much of the query's words it holds. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anamnesis.meaning.model import Vectors

# The weight of the words where one note stands out by its meaning as much as the best of as many notes does by chance.
_WORDS = 0.17
# What a note gets that holds every word of the query, however close others are.
COMPLETE = 0.1
# The share of a note's own BM25; the rest is that of its best passage.
_NOTE = 0.7
# How much of the advantage that many passages give by chance is taken from a note.
_CHANCE = 0.25
# The most that one word adds to BM25, in units of its inverse document frequency: k1 + 1.
_SATURATION = 2.2
# How close this model finds a note that has nothing to do with the query, on average, and how many such notes count.
_AVERAGE, _AVERAGE_NOTES = 0.47, 20
# The logit of `fit`: a constant, and the weights of closeness, of the average closeness, of the square of the coverage,
# and of `chance` for the number of notes plus `_FEW_MORE`. `python -m bench.fit` fits them to paraphrases,
# conversations and code: the best hit of a question against that of a question about something else.
_FIT = (-4.4, 33.3, -19.8, 5.9, -2.65)
_FEW_MORE = 5
_EVERY_WORD, _EVEN = 0.999, 0.5


def closeness(cosines: Vectors, starts: NDArray[np.int64]) -> Vectors:
    """How close each note is: the cosine of its best passage, less the advantage of having several passages.

    `cosines` are those of all passages; a note's passages begin at its place in `starts`.
    """
    counts = np.diff(starts, append=len(cosines))
    best: Vectors = np.maximum.reduceat(cosines, starts)
    return without_chance(best, counts, float(cosines.std()))


def without_chance(best: Vectors, counts: NDArray[np.int64], spread: float) -> Vectors:
    """How close notes are, given the cosine of the best of each one's passages, their numbers, and the usual spread."""
    found: Vectors = best - np.float32(_CHANCE * spread) * np.sqrt(2 * np.log(counts, dtype=np.float32))
    return found


def likeness(cosines: Vectors, starts: NDArray[np.int64]) -> Vectors:
    """How close each note is to another one: for each of its passages, in a column, the best cosine; their mean."""
    found: Vectors = np.maximum.reduceat(cosines, starts).mean(1)
    return found


class Weights(NamedTuple):
    """What words add to a score: the shares of the query that a BM25 of 1 is, that of a note and that of its best
    passage, and the factor of the share.
    """

    of_note: float
    of_passage: float
    factor: float

    def share(self, of_note: Vectors, of_passage: Vectors) -> Vectors:
        """The share of the query's words that each note has."""
        found: Vectors = np.float32(self.of_note) * of_note
        found += np.float32(self.of_passage) * of_passage
        return found

    def added(self, share: Vectors) -> Vectors:
        """More than in proportion: one word of a question may be there by chance, most of its words are not."""
        found: Vectors = share * (1 + share)
        found *= np.float32(self.factor)
        return found

    def scores(self, close: Vectors, of_note: Vectors, of_passage: Vectors) -> Vectors:
        """The scores of notes by words and meaning."""
        found = self.added(self.share(of_note, of_passage))
        found += close
        return found


def fused(close: Vectors, of_note: Vectors, of_passage: Vectors, holders: Sequence[int], total: int = 0) -> Vectors:
    """The scores of notes. `of_note` and `of_passage` are their BM25, 0 without a word of the query.

    `holders` says how many notes hold each of the query's words, of the `total` that BM25 is computed over if those are
    more than are searched.
    """
    return weights(close, holders, total).scores(close, of_note, of_passage)


def weights(close: Vectors, holders: Sequence[int], total: int = 0) -> Weights:
    """What words add to the scores of notes.

    Where the best note stands out by its meaning, words weigh less; where it stands out no more than the best of as
    many notes does by chance, they decide.
    """
    if not len(close):
        return Weights(0.0, 0.0, 0.0)
    outstanding = float(close.max() - close.mean()) / (float(close.std()) + 1e-6)
    return weights_at(outstanding, len(close), holders, max(total, len(close)))


def weights_at(outstanding: float, notes: int, holders: Sequence[int], total: int) -> Weights:
    """The same, where the best of `notes` is known to stand out by so many spreads."""
    held = np.asarray(holders, np.float64)
    ideal = _SATURATION * float(np.log(1 + (total - held + 0.5) / (held + 0.5)).sum())
    if ideal <= 0:
        return Weights(0.0, 0.0, 0.0)
    factor = _WORDS * math.sqrt(len(held)) * math.exp(chance(notes) - outstanding)
    return Weights(_NOTE / ideal, (1 - _NOTE) / ideal, factor)


def chance(notes: float) -> float:
    """How far the closest of this many notes stands out by chance, in spreads: as the largest of normal numbers."""
    return math.sqrt(2 * math.log(max(notes, 1)))


def average(close: Vectors) -> float:
    """How close notes are to the query on average. A few notes say little, so some average ones count with them."""
    return (float(close.sum()) + _AVERAGE_NOTES * _AVERAGE) / (len(close) + _AVERAGE_NOTES)


def fit(closeness: float, average: float, coverage: float, notes: float) -> float:
    """The probability that a note answers a query.

    It depends on how close the note is, on how close the notes are on average, on the part of the query's weight that
    the note's words cover, and on the number of notes: the more there are, the closer one of them is by chance. A note
    that holds every word of the query may not be weak.
    """
    logit = sum(map(mul, _FIT, (1.0, closeness, average, coverage**2, chance(notes + _FEW_MORE))))
    probability = 1 / (1 + math.exp(-min(max(logit, -30.0), 30.0)))
    return max(probability, _EVEN) if coverage >= _EVERY_WORD else probability
