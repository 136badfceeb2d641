"""The review of foreign notes: which wait for it, and what a person decides. Rejected notes go to the trash."""

from __future__ import annotations

from anamnesis.errors import InvalidArgument
from anamnesis.notes import Memory
from anamnesis.notes.foreign import SOURCE, as_reviewed, is_waiting
from anamnesis.store import MemoryStore


def waiting(store: MemoryStore) -> list[Memory]:
    """The foreign notes that nobody has reviewed, the newest first."""
    found = [file.memory for file in store.files(store.ids_from(SOURCE)).values() if file.memory]
    return sorted(filter(is_waiting, found), key=lambda note: (note.updated_at, note.id), reverse=True)


def accept(store: MemoryStore, note_id: str) -> Memory:
    """Let a foreign note be injected like any other; where it came from stays in it."""
    return store.update(note_id, tags=as_reviewed(_waiting(store, note_id)).tags)


def reject(store: MemoryStore, note_id: str) -> Memory:
    """Move a foreign note to the trash, from where `restore` brings it back."""
    return store.delete(_waiting(store, note_id).id)


def _waiting(store: MemoryStore, note_id: str) -> Memory:
    note = store.get(note_id)
    if not is_waiting(note):
        raise InvalidArgument(f"The note {note_id} does not wait for a review.", "`anamnesis review` lists those.")
    return note
