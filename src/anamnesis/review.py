"""The review of foreign notes: which are unreviewed, and a person's decision. Rejected notes go to the trash."""

from __future__ import annotations

from anamnesis.errors import InvalidArgument
from anamnesis.notes import Memory
from anamnesis.notes.foreign import SOURCE, as_reviewed, is_waiting
from anamnesis.store import MemoryStore


def waiting(store: MemoryStore) -> list[Memory]:
    """The unreviewed foreign notes, the newest first."""
    found = [file.memory for file in store.files(store.ids_from(SOURCE)).values() if file.memory]
    return sorted(filter(is_waiting, found), key=lambda note: (note.updated_at, note.id), reverse=True)


def accept(store: MemoryStore, note_id: str) -> Memory:
    """Mark a foreign note as reviewed, so that it is injected like any other; its origin stays in it."""
    return store.update(note_id, tags=as_reviewed(_waiting(store, note_id)).tags)


def reject(store: MemoryStore, note_id: str) -> Memory:
    """Move a foreign note to the trash, from where `restore` restores it."""
    return store.delete(_waiting(store, note_id).id)


def _waiting(store: MemoryStore, note_id: str) -> Memory:
    note = store.get(note_id)
    if not is_waiting(note):
        raise InvalidArgument(f"The note {note_id} needs no review.", "`anamnesis review` lists those that do.")
    return note
