"""The score of a note for a query: its closeness in meaning, and its share of the query's words. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anamnesis.meaning.model import Vectors

# The weight of words if the closest note stands out only as much as the best of as many notes does by chance.
_WORDS = 0.17
# The bonus of a note that holds every word of the query.
COMPLETE = 0.1
# The share of a note's own BM25; the rest is that of its best passage.
_NOTE = 0.7
# The part of the advantage that many passages give by chance which is subtracted.
_CHANCE = 0.25
# The most that one word adds to BM25, in units of its inverse document frequency: k1 + 1.
_SATURATION = 2.2
# The average closeness of this model for a note unrelated to the query, and the number of such notes to count.
_AVERAGE, _AVERAGE_NOTES = 0.47, 20
# The logit of `fit`: a constant, and the weights of closeness, of the average closeness, of the square of the coverage,
# and of `chance` for the number of notes plus `_FEW_MORE`. `python -m bench.fit` fits them to paraphrases,
# conversations and code: the best hit of a question against that of a question about something else.
_FIT = (-4.4, 33.3, -19.8, 5.9, -2.65)
_FEW_MORE = 5
_EVERY_WORD, _EVEN = 0.999, 0.5


def closeness(cosines: Vectors, starts: NDArray[np.int64]) -> Vectors:
    """The closeness of each note: the cosine of its best passage, less the advantage of having several passages.

    `cosines` are those of all passages; `starts` has the position of each note's first passage.
    """
    counts = np.diff(starts, append=len(cosines))
    best: Vectors = np.maximum.reduceat(cosines, starts)
    return without_chance(best, counts, float(cosines.std()))


def without_chance(best: Vectors, counts: NDArray[np.int64], spread: float) -> Vectors:
    """The closeness of notes, given the cosines of their best passages, their numbers of passages, and the spread."""
    found: Vectors = best - np.float32(_CHANCE * spread) * np.sqrt(2 * np.log(counts, dtype=np.float32))
    return found


def likeness(cosines: Vectors, starts: NDArray[np.int64]) -> Vectors:
    """The likeness of each note to another one: the mean, over the other's passages (columns), of the best cosine."""
    found: Vectors = np.maximum.reduceat(cosines, starts).mean(1)
    return found


class Weights(NamedTuple):
    """The weights of words in a score: the share of the query per unit of BM25, of a note and of its best passage, and
    the factor of the share.
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
        """The score for a share. It grows more than linearly, because one word of a question may match by chance."""
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

    `holders` has the number of notes that hold each of the query's words, of the `total` over which BM25 is computed,
    if that is more than are searched.
    """
    return weights(close, holders, total).scores(close, of_note, of_passage)


def weights(close: Vectors, holders: Sequence[int], total: int = 0) -> Weights:
    """The weights of words in the scores of notes.

    The more the closest note stands out by its meaning, the less words weigh. If it stands out only as much as the best
    of as many notes does by chance, words decide.
    """
    if not len(close):
        return Weights(0.0, 0.0, 0.0)
    outstanding = float(close.max() - close.mean()) / (float(close.std()) + 1e-6)
    return weights_at(outstanding, len(close), holders, max(total, len(close)))


def weights_at(outstanding: float, notes: int, holders: Sequence[int], total: int) -> Weights:
    """The weights of words if the closest of `notes` stands out by this many standard deviations."""
    held = np.asarray(holders, np.float64)
    ideal = _SATURATION * float(np.log(1 + (total - held + 0.5) / (held + 0.5)).sum())
    if ideal <= 0:
        return Weights(0.0, 0.0, 0.0)
    factor = _WORDS * math.sqrt(len(held)) * math.exp(chance(notes) - outstanding)
    return Weights(_NOTE / ideal, (1 - _NOTE) / ideal, factor)


def chance(notes: float) -> float:
    """How far the closest of this many notes stands out by chance, in standard deviations of a normal distribution."""
    return math.sqrt(2 * math.log(max(notes, 1)))


def average(close: Vectors) -> float:
    """The average closeness of notes to the query, with some average notes added, because a few notes say little."""
    return (float(close.sum()) + _AVERAGE_NOTES * _AVERAGE) / (len(close) + _AVERAGE_NOTES)


def fit(closeness: float, average: float, coverage: float, notes: float) -> float:
    """The probability that a note answers a query.

    It depends on the closeness of the note, the average closeness, the part of the query's weight that the note's words
    cover, and the number of notes: the more there are, the closer one of them is by chance. A note that holds every
    word of the query is never weak.
    """
    logit = sum(map(mul, _FIT, (1.0, closeness, average, coverage**2, chance(notes + _FEW_MORE))))
    probability = 1 / (1 + math.exp(-min(max(logit, -30.0), 30.0)))
    return max(probability, _EVEN) if coverage >= _EVERY_WORD else probability
