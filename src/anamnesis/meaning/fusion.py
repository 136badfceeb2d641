"""The score of a note for a query: how close it is in meaning, and how much of the query's words it holds. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from anamnesis.meaning.model import Vectors

# The weight of the words, and how fast it falls where one note stands out by its meaning. Fitted to this model.
_WORDS = 4.0
_FALL = 0.8
# The share of a note's own BM25; the rest is that of its best passage.
NOTE = 0.7
# How much of the advantage that many passages give by chance is taken from a note.
_CHANCE = 0.25
# The most that one word adds to BM25, in units of its inverse document frequency: k1 + 1.
_SATURATION = 2.2


def closeness(cosines: Vectors, starts: NDArray[np.int64]) -> Vectors:
    """How close each note is: the cosine of its best passage, less what the best of so many would have by chance.

    `cosines` are those of all passages; a note's passages begin at its place in `starts`.
    """
    counts = np.diff(starts, append=len(cosines))
    best: Vectors = np.maximum.reduceat(cosines, starts)
    best -= np.float32(_CHANCE * cosines.std()) * np.sqrt(2 * np.log(counts, dtype=np.float32))
    return best


def words_weight(close: Vectors, holders: Sequence[int], total: int) -> float:
    """How much BM25 counts beside closeness. `holders` says how many of `total` notes hold each of the query's words.

    Where the best note stands out by its meaning, words weigh less; where no note does, they decide.
    """
    if not len(close) or not holders:
        return 0.0
    held = np.minimum(np.asarray(holders, np.float64), total)
    ideal = _SATURATION * float(np.log(1 + (total - held + 0.5) / (held + 0.5)).sum())
    outstanding = float(close.max() - close.mean()) / (float(close.std()) + 1e-6)
    return _WORDS * math.sqrt(len(held)) * math.exp(-_FALL * outstanding) / ideal


def fused(close: Vectors, of_note: Vectors, of_passage: Vectors, weight: float) -> Vectors:
    """The scores of notes. `of_note` and `of_passage` are their BM25, 0 without a word of the query."""
    words = np.float32(weight * NOTE) * of_note
    words += np.float32(weight * (1 - NOTE)) * of_passage
    words += close
    return words
