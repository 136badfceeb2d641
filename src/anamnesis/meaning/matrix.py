"""The passages of many notes in memory, to be compared with a query."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from anamnesis.meaning.fusion import closeness
from anamnesis.meaning.model import WIDTH, Vectors
from anamnesis.meaning.vectors import PASSAGE, Passages

# Passages compared at a time: more of them, as floats, do not fit into a core's cache.
_BLOCK = 512


class Matrix:
    """The passages of notes, by the notes' numbers. A note has at least one passage."""

    def __init__(self, notes: Mapping[int, Passages]) -> None:
        self.numbers = np.fromiter(notes, np.int64, len(notes))
        counts = np.fromiter(map(len, notes.values()), np.int64, len(notes))
        self._starts: NDArray[np.int64] = np.cumsum(counts) - counts
        passages = np.concatenate([*notes.values(), np.empty(0, PASSAGE)])
        self._values = np.ascontiguousarray(passages["values"])
        self._scales = np.ascontiguousarray(passages["scale"])

    def closeness(self, query: Vectors) -> Vectors:
        """How close each note is to the query, in the order of `numbers`."""
        if not len(self.numbers):
            return np.empty(0, np.float32)
        cosines = np.empty(len(self._values), np.float32)
        block = np.empty((_BLOCK, WIDTH), np.float32)
        for start in range(0, len(cosines), _BLOCK):
            values = self._values[start : start + _BLOCK]
            np.copyto(block[: len(values)], values)
            np.dot(block[: len(values)], query, out=cosines[start : start + _BLOCK])
        cosines *= self._scales
        return closeness(cosines, self._starts)
