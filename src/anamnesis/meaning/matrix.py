"""The passages of all notes in memory, to be compared with a query."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anamnesis.meaning.fusion import closeness
from anamnesis.meaning.model import WIDTH, Vectors
from anamnesis.meaning.vectors import PASSAGE, Text

# Passages compared at a time: as floats, more do not fit into a core's cache.
_AT_ONCE = 512
# Blocks of at least this many notes are full; smaller ones are joined when there are more than a few.
_FULL = 2_048
_MOST_SMALL = 8

Numbers = NDArray[np.int64]
# Computes the closeness of each note from the cosines of all passages and the position of each note's first passage.
Measure = Callable[[Vectors, Numbers], Vectors]


class Close(NamedTuple):
    """The numbers of notes and of their texts, the number of passages of each text, and its closeness to a query."""

    notes: Numbers
    texts: Numbers
    counts: Numbers
    closeness: Vectors

    def where(self, chosen: NDArray[np.bool_]) -> Close:
        return Close(self.notes[chosen], self.texts[chosen], self.counts[chosen], self.closeness[chosen])


class EmbeddedNote(NamedTuple):
    """A note by its number, with its text."""

    number: int
    text: Text


class Matrix:
    """The texts of notes by their ids, in blocks, so that the vectors are in memory once. A change copies a block."""

    def __init__(self) -> None:
        self._blocks: list[_Block] = []

    def __len__(self) -> int:
        return sum(len(block.notes) for block in self._blocks)

    def update(self, changes: Mapping[str, EmbeddedNote | None]) -> None:
        """Replace notes by their ids; None removes one."""
        keys = _keys(changes)
        kept = (block.without(keys) for block in self._blocks)
        self._blocks = [block for block in (*kept, _block_of(changes)) if len(block.notes)]
        small = [block for block in self._blocks if len(block.notes) < _FULL]
        if len(small) > _MOST_SMALL:
            full = [block for block in self._blocks if len(block.notes) >= _FULL]
            self._blocks = [*full, _joined(small)]

    def compare(self, query: Vectors, measure: Measure = closeness) -> Close:
        """The closeness of every note to the query, or to several queries (rows), according to `measure`."""
        every = [_block_of({}), *self._blocks]
        notes, texts, counts = (
            np.concatenate([getattr(block, name) for block in every]) for name in ("notes", "texts", "counts")
        )
        cosines = np.concatenate([block.cosines(query) for block in every])
        starts = np.cumsum(counts) - counts
        return Close(notes, texts, counts, measure(cosines, starts) if len(notes) else np.empty(0, np.float32))


class _Block(NamedTuple):
    """Notes, and all their passages in order. `keys` are hashes of the ids, which take a tenth of their memory."""

    keys: Numbers
    notes: Numbers
    texts: Numbers
    counts: Numbers
    values: NDArray[np.int8]
    scales: Vectors

    def without(self, keys: Numbers) -> _Block:
        kept = ~np.isin(self.keys, keys)
        if kept.all():
            return self
        passages = np.repeat(kept, self.counts)
        return _Block(
            self.keys[kept],
            self.notes[kept],
            self.texts[kept],
            self.counts[kept],
            self.values[passages],
            self.scales[passages],
        )

    def cosines(self, query: Vectors) -> Vectors:
        """The cosine of every passage; with several queries, one column for each."""
        found = np.empty((len(self.values), *query.shape[:-1]), np.float32)
        floats = np.empty((_AT_ONCE, WIDTH), np.float32)
        for start in range(0, len(self.values), _AT_ONCE):
            values = self.values[start : start + _AT_ONCE]
            np.copyto(floats[: len(values)], values)
            np.dot(floats[: len(values)], query.T, out=found[start : start + _AT_ONCE])
        by_query = found.T
        by_query *= self.scales
        return found


def _block_of(changes: Mapping[str, EmbeddedNote | None]) -> _Block:
    known = {id: note for id, note in changes.items() if note}
    texts = [note.text for note in known.values()]
    passages = np.concatenate([*(text.passages for text in texts), np.empty(0, PASSAGE)])
    return _Block(
        _keys(known),
        np.array([note.number for note in known.values()], np.int64),
        np.array([text.number for text in texts], np.int64),
        np.array([len(text.passages) for text in texts], np.int64),
        np.ascontiguousarray(passages["values"]),
        np.ascontiguousarray(passages["scale"]),
    )


def _keys(ids: Collection[str]) -> Numbers:
    return np.array([hash(id) for id in ids], np.int64)


def _joined(blocks: Sequence[_Block]) -> _Block:
    return _Block(*(np.concatenate(arrays) for arrays in zip(*blocks, strict=True)))
