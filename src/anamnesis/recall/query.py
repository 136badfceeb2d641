"""The words of a query."""

from __future__ import annotations

import re
from collections import Counter

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
