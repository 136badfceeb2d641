"""Which notes the next dream looks at, and which of them matter most."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import NamedTuple

from anamnesis.dream.journal import KIND
from anamnesis.dream.kinds import Depth, Kind, depth_of, kind_of
from anamnesis.dream.priority import Priority, priority
from anamnesis.notes import Memory
from anamnesis.recall.query import telling_words
from anamnesis.store import MemoryStore
from anamnesis.store.priors import seconds_of

_DAY = 86_400.0
_PEERS = 5
_MOST_WORDS = 64
# Notes that are compared with their peers, for each that is shown: novelty only lowers a priority.
_LOOKED_AT = 4


class Scanned(NamedTuple):
    """A note, its kind and depth, and why it is looked at early or late."""

    note: Memory
    kind: Kind
    depth: Depth
    priority: Priority


def classified(notes: Iterable[Memory]) -> list[tuple[Memory, Kind, Depth]]:
    """Notes with their kinds and depths."""
    return [(note, kind_of(note), depth_of(note)) for note in notes]


def changed_notes(store: MemoryStore) -> list[Memory]:
    """The live notes that changed since the last dream; all of them before the first."""
    pending = store.log.pending(KIND)
    ids = [change.note_id for change in pending.changes] if pending else [note.id for note in store.list()]
    return store.live(ids)


def scan(store: MemoryStore, notes: Iterable[Memory], most: int) -> list[Scanned]:
    """Those of the notes that matter most, the first in front."""
    now = time.time()
    rough = [(note, priority(note, _age(note, now))) for note in notes]
    rough.sort(key=lambda pair: (-pair[1].value, pair[0].id))
    found = []
    for note, _ in rough[: _LOOKED_AT * most]:
        exact = priority(note, _age(note, now), _peers(store, note), _words(note))
        found.append(Scanned(note, kind_of(note), depth_of(note), exact))
    return sorted(found, key=lambda each: (-each.priority.value, each.note.id))[:most]


def _age(note: Memory, now: float) -> float:
    return (now - (seconds_of(note.updated_at) or 0.0)) / _DAY


def _peers(store: MemoryStore, note: Memory) -> list[frozenset[str]]:
    """The words of the notes that are about the same topic: those that share most words with a note."""
    query = " ".join(telling_words(f"{note.title} {note.body}")[:_MOST_WORDS])
    hits = store.hits(query, project=note.project, k=_PEERS, mode="words")
    return [_words(hit.memory) for hit in hits if hit.memory.id != note.id]


def _words(note: Memory) -> frozenset[str]:
    return frozenset(telling_words(f"{note.title} {note.body}"))
