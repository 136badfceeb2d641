"""The words of a query."""

from __future__ import annotations

import re
from collections import Counter

# Limits for a pasted document as a query: the number of different words, and how often a repeated word counts. No
# real question comes near to either.
MOST_WORDS = 1000
MOST_REPEATS = 8


def words(query: str) -> Counter[str]:
    """The words of a query in order, with their counts."""
    counted: Counter[str] = Counter()
    for match in re.finditer(r"\w+", query):
        word = match.group()
        if len(counted) < MOST_WORDS or word in counted:
            counted[word] = min(counted[word] + 1, MOST_REPEATS)
    return counted
