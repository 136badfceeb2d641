"""Which words of a query decide its answer.

A word in half of the notes costs a thousand times what a rare one costs, and moves nothing. So the notes that
hold a rare word are scored by all words, and those that hold only common ones are left out where their best
possible score is below the k-th found.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

# The saturation constant of FTS5's bm25(): a word contributes less than (K1 + 1) times its idf.
_K1 = 1.2
_LEAST_IDF = 1e-6


class Word(NamedTuple):
    """A word of the query: how often it is asked for, and how many notes hold it."""

    text: str
    times: int
    notes: int

    def is_telling(self, total: int) -> bool:
        """Whether fewer than half of the notes hold it; of the others, bm25() keeps only _LEAST_IDF."""
        return 2 * self.notes < total

    def weight(self, total: int) -> float:
        """Its inverse document frequency among `total` notes, as bm25() computes it."""
        idf = math.log((max(total, self.notes) - self.notes + 0.5) / (self.notes + 0.5))
        return max(idf, _LEAST_IDF)

    def most(self, total: int) -> float:
        """More than this word can add to any note's score, among `total` notes."""
        return self.times * self.weight(total) * (_K1 + 1)


def any_of(words: Iterable[Word]) -> str:
    """The FTS5 expression for notes with any of the words; quoted, no word can act as an operator."""
    return " OR ".join(f'"{word.text}"' for word in words for _ in range(word.times))


def rarest_first(words: Sequence[Word]) -> list[Word]:
    return sorted(words, key=lambda word: word.notes)


def head_holding(words: Sequence[Word], notes: int) -> int:
    """How many of the rarest words hold so many notes between them, if no note held two of them."""
    for count, held in enumerate(accumulate(word.notes for word in words), start=1):
        if held >= notes:
            return count
    return len(words)


def head_deciding(words: Sequence[Word], total: int, score: float) -> int:
    """How many of the rarest words a note must have one of, to reach `score`."""
    rest = 0.0
    for count in range(len(words), 0, -1):
        rest += words[count - 1].most(total)
        if rest >= score:
            return count
    return 1


def is_settled(scores: Sequence[float], most: float) -> bool:
    """Whether no addition of up to `most` to each score can change the order of these bm25 scores."""
    return all(worse - better > most for better, worse in pairwise(scores))
