"""Which words of a query decide its answer.

A word in half of the notes costs a thousand times as much as a rare one and changes nothing. So the notes with a rare
word are scored by all words, and notes with only common words are skipped if their best possible score is below the
k-th found.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

# The saturation constant of FTS5's bm25(): a word contributes less than (K1 + 1) times its idf.
_K1 = 1.2
_LEAST_IDF = 1e-6


class QueryWord(NamedTuple):
    """A word of the query, how often it occurs there, and how many notes contain it."""

    text: str
    times: int
    notes: int

    def is_telling(self, total: int) -> bool:
        """Whether fewer than half of the notes contain it; the others get only _LEAST_IDF from bm25()."""
        return 2 * self.notes < total

    def weight(self, total: int) -> float:
        """Its inverse document frequency among `total` notes, as bm25() computes it."""
        idf = math.log((max(total, self.notes) - self.notes + 0.5) / (self.notes + 0.5))
        return max(idf, _LEAST_IDF)

    def most(self, total: int) -> float:
        """An upper bound of what this word adds to a note's score, among `total` notes."""
        return self.times * self.weight(total) * (_K1 + 1)


def any_of(words: Iterable[QueryWord]) -> str:
    """The FTS5 expression for notes with any of the words, each as often as the query has it."""
    return any_term(word.text for word in words for _ in range(word.times))


def any_term(terms: Iterable[str]) -> str:
    """The FTS5 expression for texts with any of the words or phrases; quoted, so that none is an operator."""
    return " OR ".join(f'"{term}"' for term in terms)


def rarest_first(words: Sequence[QueryWord]) -> list[QueryWord]:
    return sorted(words, key=lambda word: word.notes)


def head_holding(words: Sequence[QueryWord], notes: int) -> int:
    """How many of the rarest words are needed to match this many notes, if no note matches two."""
    for count, held in enumerate(accumulate(word.notes for word in words), start=1):
        if held >= notes:
            return count
    return len(words)


def head_within(words: Sequence[QueryWord], notes: int) -> int:
    """How many of the rarest words match at most this many notes together."""
    return sum(held <= notes for held in accumulate(word.notes for word in words))


def head_deciding(words: Sequence[QueryWord], total: int, score: float) -> int:
    """How many of the rarest words matter: a note with none of them cannot reach `score`."""
    rest = 0.0
    for count in range(len(words), 0, -1):
        rest += words[count - 1].most(total)
        if rest >= score:
            return count
    return 1


def is_settled(scores: Sequence[float], most: float) -> bool:
    """Whether adding up to `most` to each score cannot change the order of these bm25 scores."""
    return all(worse - better > most for better, worse in pairwise(scores))
