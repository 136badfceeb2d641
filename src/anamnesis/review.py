"""The review of foreign notes, of agents' notes that the gate redirects, and of teammates' global notes.

Rejected notes go to the trash.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from anamnesis.errors import InvalidArgument
from anamnesis.notes import Memory
from anamnesis.notes.foreign import CLAUDE_CODE, REVIEWED, SOURCE, TO_REVIEW, as_reviewed, is_waiting
from anamnesis.notes.marks import HELD
from anamnesis.project import GLOBAL
from anamnesis.store import MemoryStore
from anamnesis.store.ids import utcnow

_BATCH = 500


def waiting_ids(store: MemoryStore) -> set[str]:
    """The ids of the unreviewed notes, from the index alone."""
    foreign = {*store.ids_from(SOURCE)} - {*store.tagged(CLAUDE_CODE)}
    return ((foreign | {*store.tagged(TO_REVIEW), *store.marked(HELD)}) - {*store.tagged(REVIEWED)}) | _held(store)


def waiting(store: MemoryStore) -> list[Memory]:
    """The unreviewed notes, the newest first."""
    found, held = store.whole(waiting_ids(store)), _held(store)  # thousands, whose files would take seconds
    found = [note for note in found if is_waiting(note) or note.id in held]
    return sorted(found, key=lambda note: (note.updated_at, note.id), reverse=True)


def accept(store: MemoryStore, note_id: str) -> Memory:
    """Mark a note as reviewed, so that it is injected like any other; its origin stays in it.

    That of another member is accepted for this machine, until somebody else changes it.
    """
    note = _waiting(store, note_id)
    if note_id in _held(store):
        store.shared.accept([note_id])
        return note
    return store.update(note_id, tags=as_reviewed(note).tags)


def accept_all(store: MemoryStore, ids: Sequence[str]) -> list[Memory]:
    """Accept many notes, a batch at a time."""
    held = _held(store)
    accepted = store.whole(held.intersection(ids))
    store.shared.accept(note.id for note in accepted)
    for start in range(0, len(ids), _BATCH):
        files = store.files(ids[start : start + _BATCH]).values()
        found = [file.memory for file in files if file.memory]
        notes = [note for note in found if is_waiting(note) and note.id not in held]
        batch = [replace(as_reviewed(note), updated_at=utcnow()) for note in notes]
        store.put_all(batch)
        accepted += batch
    return accepted


def reopen(store: MemoryStore, note_id: str) -> Memory:
    """Undo `accept`: the note waits for a review again."""
    if note_id in store.shared.of([note_id]):
        store.shared.accept([note_id], is_accepted=False)
        return store.get(note_id)
    return store.update(note_id, tags=[tag for tag in store.get(note_id).tags if tag != REVIEWED])


def reject(store: MemoryStore, note_id: str) -> Memory:
    """Move a note to the trash, from where `restore` restores it."""
    return store.delete(check_reject(store, note_id).id)


def check_reject(store: MemoryStore, note_id: str) -> Memory:
    """The note, if it can be rejected; raises the reason if it cannot."""
    if shared := store.shared.of([note_id] if note_id in _held(store) else ()):
        space = shared[note_id].space
        message = f"The note {note_id} is of the space {space}, and would be deleted for all of its members."
        raise InvalidArgument(message, f"Leave it, as it is not injected by itself, or: anamnesis delete {note_id}")
    return _waiting(store, note_id)


def _waiting(store: MemoryStore, note_id: str) -> Memory:
    note = store.get(note_id)
    if not is_waiting(note) and note_id not in _held(store):
        raise InvalidArgument(f"The note {note_id} needs no review.", "`anamnesis review` lists those that do.")
    return note


def _held(store: MemoryStore) -> set[str]:
    """The global notes that other members wrote and the user has not accepted."""
    unaccepted = store.shared.unaccepted()
    return unaccepted.keys() & {*store.ids_of(GLOBAL)} if unaccepted else set()
