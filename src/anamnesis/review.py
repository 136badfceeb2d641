"""The review of foreign notes, and of agents' notes that the gate redirects. Rejected notes go to the trash."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from anamnesis.errors import InvalidArgument
from anamnesis.notes import Memory
from anamnesis.notes.foreign import CLAUDE_CODE, REVIEWED, SOURCE, TO_REVIEW, as_reviewed, is_waiting
from anamnesis.store import MemoryStore
from anamnesis.store.ids import utcnow

_BATCH = 500


def waiting_ids(store: MemoryStore) -> set[str]:
    """The ids of the unreviewed notes, from the index alone."""
    foreign = {*store.ids_from(SOURCE)} - {*store.tagged(CLAUDE_CODE)}
    return (foreign | {*store.tagged(TO_REVIEW)}) - {*store.tagged(REVIEWED)}


def waiting(store: MemoryStore) -> list[Memory]:
    """The unreviewed notes, the newest first."""
    found = store.whole(waiting_ids(store))  # an import may leave thousands, whose files would take seconds
    return sorted(filter(is_waiting, found), key=lambda note: (note.updated_at, note.id), reverse=True)


def accept(store: MemoryStore, note_id: str) -> Memory:
    """Mark a note as reviewed, so that it is injected like any other; its origin stays in it."""
    return store.update(note_id, tags=as_reviewed(_waiting(store, note_id)).tags)


def accept_all(store: MemoryStore, ids: Sequence[str]) -> list[Memory]:
    """Accept many notes, a batch at a time."""
    accepted = []
    for start in range(0, len(ids), _BATCH):
        files = store.files(ids[start : start + _BATCH]).values()
        notes = [file.memory for file in files if file.memory and is_waiting(file.memory)]
        batch = [replace(as_reviewed(note), updated_at=utcnow()) for note in notes]
        store.put_all(batch)
        accepted += batch
    return accepted


def reopen(store: MemoryStore, note_id: str) -> Memory:
    """Undo `accept`: the note waits for a review again."""
    return store.update(note_id, tags=[tag for tag in store.get(note_id).tags if tag != REVIEWED])


def reject(store: MemoryStore, note_id: str) -> Memory:
    """Move a note to the trash, from where `restore` restores it."""
    return store.delete(_waiting(store, note_id).id)


def _waiting(store: MemoryStore, note_id: str) -> Memory:
    note = store.get(note_id)
    if not is_waiting(note):
        raise InvalidArgument(f"The note {note_id} needs no review.", "`anamnesis review` lists those that do.")
    return note
