"""The priority of a note in a scan: by recency, number of changes, weight of its kind, and novelty. Pure.

The formula is Reverie's; it does not publish the weights of its kinds, so these are ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Set
from typing import NamedTuple

from anamnesis.dream.kinds import Kind, kind_of
from anamnesis.notes import Memory

_HALF_LIFE = 7.0
WEIGHTS: dict[Kind, float] = {
    "Directive": 1.0,
    "Preference": 0.9,
    "Decision": 0.9,
    "Heuristic": 0.8,
    "Bug": 0.7,
    "Config": 0.6,
    "Reference": 0.6,
    "Session": 0.3,
}


class Priority(NamedTuple):
    """The parts of a priority; their product is the whole."""

    recency: float
    changes: float
    weight: float
    novelty: float

    @property
    def value(self) -> float:
        return math.prod(self)


def priority(note: Memory, age_days: float, peers: Iterable[Set[str]] = (), words: Set[str] = frozenset()) -> Priority:
    """The priority of a note of this age. `peers` are the words of the other notes of its topic, `words` its own."""
    counts = [note.engram.get(name) for name in ("revision_count", "duplicate_count")]
    changes = sum(max(0, count - 1) for count in counts if isinstance(count, int))
    return Priority(
        recency=0.5 ** (max(0.0, age_days) / _HALF_LIFE),
        changes=1 + math.log2(1 + changes),
        weight=WEIGHTS[kind_of(note)],
        novelty=1 - max((_jaccard(words, peer) for peer in peers), default=0.0),
    )


def _jaccard(one: Set[str], other: Set[str]) -> float:
    return len(one & other) / len(one | other) if one or other else 1.0
