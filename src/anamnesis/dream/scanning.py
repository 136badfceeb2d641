"""The notes that the next dream examines, with their priorities."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import NamedTuple

from anamnesis.dream.dream_journal import FOLLOWER
from anamnesis.dream.kinds import Depth, Kind, depth_of, kind_of
from anamnesis.dream.priority import Priority, priority
from anamnesis.notes import Memory
from anamnesis.recall.query import telling_words
from anamnesis.store import MemoryStore
from anamnesis.store.priors import seconds_of

_DAY = 86_400.0
_PEERS = 5
_MOST_WORDS = 64
# How many times as many notes are compared with their peers as are shown; novelty can only lower a priority.
_LOOKED_AT = 4


class ScannedNote(NamedTuple):
    """A note with its kind, its depth and its priority."""

    note: Memory
    kind: Kind
    depth: Depth
    priority: Priority


def classified(notes: Iterable[Memory]) -> list[tuple[Memory, Kind, Depth]]:
    """Notes with their kinds and depths."""
    return [(note, kind_of(note), depth_of(note)) for note in notes]


def changed_notes(store: MemoryStore) -> list[Memory]:
    """The live notes that changed since the last dream; all of them before the first."""
    pending = store.log.pending(FOLLOWER)
    ids = [change.note_id for change in pending.changes] if pending else [note.id for note in store.list()]
    return store.live(ids)


def scan(store: MemoryStore, notes: Iterable[Memory], most: int) -> list[ScannedNote]:
    """The notes with the highest priorities, the highest first."""
    now = time.time()
    rough = [(note, priority(note, _age(note, now))) for note in notes]
    rough.sort(key=lambda pair: (-pair[1].value, pair[0].id))
    found = []
    for note, _ in rough[: _LOOKED_AT * most]:
        exact = priority(note, _age(note, now), _peers(store, note), _words(note))
        found.append(ScannedNote(note, kind_of(note), depth_of(note), exact))
    return sorted(found, key=lambda each: (-each.priority.value, each.note.id))[:most]


def _age(note: Memory, now: float) -> float:
    return (now - (seconds_of(note.updated_at) or 0.0)) / _DAY


def _peers(store: MemoryStore, note: Memory) -> list[frozenset[str]]:
    """The words of the notes on the same topic, i.e. of those that share most words with a note."""
    query = " ".join(telling_words(f"{note.title} {note.body}")[:_MOST_WORDS])
    hits = store.hits(query, project=note.project, k=_PEERS, mode="words")
    return [_words(hit.memory) for hit in hits if hit.memory.id != note.id]


def _words(note: Memory) -> frozenset[str]:
    return frozenset(telling_words(f"{note.title} {note.body}"))
