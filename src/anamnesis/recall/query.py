"""A query as words, and as FTS5 expressions in which no character of it can act as an operator."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

# A pasted document is a query too. Of its words, so many different ones are looked at, and a word counts so
# often; no question that a person or an agent asks comes near to either.
MOST_WORDS = 1000
MOST_REPEATS = 8


def words(query: str) -> Counter[str]:
    """The words of a query, in their order, with how often each stands there."""
    counted: Counter[str] = Counter()
    for match in re.finditer(r"\w+", query):
        word = match.group()
        if len(counted) < MOST_WORDS or word in counted:
            counted[word] = min(counted[word] + 1, MOST_REPEATS)
    return counted


def any_of(repeated: Iterable[tuple[str, int]]) -> str:
    """The expression for notes with any of the words, each as often as it was asked for."""
    return " OR ".join(f'"{word}"' for word, times in repeated for _ in range(times))
