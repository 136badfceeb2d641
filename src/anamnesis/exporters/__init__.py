"""Exports notes in other programs' formats. `chosen` selects the notes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from anamnesis.notes import Memory
from anamnesis.store import MemoryStore

_BATCH = 500


def chosen(store: MemoryStore, **filters: Any) -> Iterator[Memory]:
    """The notes that match these filters, with their bodies, the oldest id first."""
    ids = sorted(note.id for note in store.list(**filters))
    for start in range(0, len(ids), _BATCH):
        found = {note.id: note for note in store.whole(ids[start : start + _BATCH])}
        yield from (found[id] for id in ids[start : start + _BATCH] if id in found)
