"""The passages of all notes in memory, to be compared with a query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anamnesis.meaning.fusion import closeness
from anamnesis.meaning.model import WIDTH, Vectors
from anamnesis.meaning.vectors import PASSAGE, Text

# Passages compared at a time: more of them, as floats, do not fit into a core's cache.
_BLOCK = 512
# Changed notes that are kept apart. With more, all are put together again, which takes as long as a search.
_MOST_CHANGED = 1_000

Numbers = NDArray[np.int64]
# How close each note is, from the cosines of all passages and the places where those of each note begin.
Measure = Callable[[Vectors, Numbers], Vectors]


class Close(NamedTuple):
    """The numbers of notes and of their texts, how many passages each text has, and how close it is to a query."""

    notes: Numbers
    texts: Numbers
    counts: Numbers
    closeness: Vectors

    def where(self, chosen: NDArray[np.bool_]) -> Close:
        return Close(self.notes[chosen], self.texts[chosen], self.counts[chosen], self.closeness[chosen])


class Matrix:
    """The texts of notes, by the notes' numbers. Changes cost what they change."""

    def __init__(self) -> None:
        self._texts: dict[int, Text] = {}
        self._changed: dict[int, Text] = {}
        self._base, self._recent = _Block({}), _Block({})
        self._valid = np.empty(0, bool)

    def __len__(self) -> int:
        return len(self._texts)

    def update(self, changes: Mapping[int, Text | None]) -> None:
        """Replace the texts of notes; None removes a note."""
        for note, text in changes.items():
            self._changed.pop(note, None)
            if text:
                self._texts[note] = self._changed[note] = text
            else:
                self._texts.pop(note, None)
        if len(self._changed) > _MOST_CHANGED:
            self._changed = {}
            self._base, self._recent = _Block(self._texts), _Block({})
            self._valid = np.ones(len(self._base.notes), bool)
        else:
            self._recent = _Block(self._changed)
            self._valid &= ~np.isin(self._base.notes, np.fromiter(changes, np.int64, len(changes)))

    def compare(self, query: Vectors, measure: Measure = closeness) -> Close:
        """How close every note is to the query, or to several as rows, if it is measured so."""
        blocks = [self._base, self._recent]
        cosines = np.concatenate([block.cosines(query) for block in blocks])
        starts = np.concatenate([self._base.starts, self._recent.starts + len(self._base)])
        valid = np.concatenate([self._valid, np.ones(len(self._recent.notes), bool)])
        close = measure(cosines, starts) if len(starts) else np.empty(0, np.float32)
        notes, texts, counts = (
            np.concatenate([getattr(block, name) for block in blocks]) for name in ("notes", "texts", "counts")
        )
        return Close(notes, texts, counts, close).where(valid)


class _Block:
    """Passages one after the other: those of a note begin at its place in `starts`."""

    def __init__(self, texts: Mapping[int, Text]) -> None:
        self.notes = np.fromiter(texts, np.int64, len(texts))
        self.texts = np.fromiter((text.number for text in texts.values()), np.int64, len(texts))
        self.counts = np.fromiter((len(text.passages) for text in texts.values()), np.int64, len(texts))
        self.starts: Numbers = np.cumsum(self.counts) - self.counts
        passages = np.concatenate([*(text.passages for text in texts.values()), np.empty(0, PASSAGE)])
        self._values = np.ascontiguousarray(passages["values"])
        self._scales = np.ascontiguousarray(passages["scale"])

    def __len__(self) -> int:
        return len(self._values)

    def cosines(self, query: Vectors) -> Vectors:
        """Those of every passage; with several queries, in a column for each."""
        found = np.empty((len(self), *query.shape[:-1]), np.float32)
        floats = np.empty((_BLOCK, WIDTH), np.float32)
        for start in range(0, len(self), _BLOCK):
            values = self._values[start : start + _BLOCK]
            np.copyto(floats[: len(values)], values)
            np.dot(floats[: len(values)], query.T, out=found[start : start + _BLOCK])
        by_query = found.T
        by_query *= self._scales
        return found
