"""Notes for other programs. Each exporter takes notes and a place; `chosen` selects the notes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from anamnesis.notes import Memory
from anamnesis.store import MemoryStore

_BATCH = 500


def chosen(store: MemoryStore, **wanted: Any) -> Iterator[Memory]:
    """The notes that a list with these filters shows, whole, the oldest id first."""
    ids = sorted(note.id for note in store.list(**wanted))
    for start in range(0, len(ids), _BATCH):
        found = {note.id: note for note in store.whole(ids[start : start + _BATCH])}
        yield from (found[id] for id in ids[start : start + _BATCH] if id in found)
