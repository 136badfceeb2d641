"""The notes that say nearly the same as one that was just written. Never fails a write."""

from __future__ import annotations

import sqlite3

from anamnesis.errors import AnamnesisError
from anamnesis.notes import Memory
from anamnesis.project import GLOBAL
from anamnesis.recall.query import telling_words
from anamnesis.store.store import MemoryStore

_MOST = 3
# Notes that say the same in other words have a cosine of 0.914 at the least, and notes of one form with other facts
# 0.897 at the most (tests/store/alike.json). Of 128 conversations, 11 reach 0.905 with one that shares at most 52 % of
# its words; notes that say the same share 75 %.
_ALIKE = 0.905
_SHARED = 0.6
# Words with the same beginning count as one: retry, retries, retried.
_STEM = 6


def resembling(store: MemoryStore, note: Memory) -> list[Memory]:
    """Up to three notes of its project or global ones, the closest first; none where no warm model answers."""
    hits = []
    try:
        for place in dict.fromkeys((note.project, GLOBAL)):
            hits += store.related(note.id, project=place, k=_MOST, warm=True)
    except (AnamnesisError, OSError, sqlite3.Error):
        return []
    alike = [hit for hit in hits if hit.score >= _ALIKE and _shared(hit.memory, note) >= _SHARED]
    return [hit.memory for hit in sorted(alike, key=lambda hit: hit.score, reverse=True)[:_MOST]]


def _shared(one: Memory, other: Memory) -> float:
    """Which part of the words of the shorter note the other one has too."""
    words = [{word[:_STEM] for word in telling_words(f"{each.title} {each.body}")} for each in (one, other)]
    return len(words[0] & words[1]) / (min(map(len, words)) or 1)
