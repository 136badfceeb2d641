"""The review of foreign notes, of agents' notes that are held, and of teammates' notes that no session is told.

Rejected notes go to the trash.
"""

from __future__ import annotations

from collections.abc import Sequence

from anamnesis.errors import InvalidArgument, NoteConflict
from anamnesis.notes import Memory
from anamnesis.notes.acceptance import ACCEPTED, text_of
from anamnesis.notes.foreign import SOURCE, awaiting
from anamnesis.notes.marks import HELD
from anamnesis.store import MemoryStore


def waiting_ids(store: MemoryStore) -> set[str]:
    """The ids of the unreviewed notes, from the index alone."""
    return {note.id for note in waiting(store)}


def waiting(store: MemoryStore) -> list[Memory]:
    """The unreviewed notes, the newest first, from the index alone: thousands of files would take seconds."""
    shared = store.shared.by_others() if store.has_shared else {}
    candidates = {*store.ids_from(SOURCE), *store.marked(HELD), *store.in_spaces(), *shared}
    notes = store.whole(candidates)
    return sorted(awaiting(notes, store.origins(notes)), key=lambda note: (note.updated_at, note.id), reverse=True)


def accept(store: MemoryStore, note_id: str, seen: str = "") -> Memory:
    """Accept the present text of a note, so that it is injected like any other; its origin stays in it.

    This holds on all machines of the user, until somebody else changes the text. If the digest of the text that the
    user has `seen` is given, no other text is accepted.
    """
    note = _waiting(store, note_id)
    if seen not in ("", text_of(note).digest):
        raise NoteConflict(f"The note {note_id} has changed since you saw it.", "Read it again before you accept it.")
    store.decide([note], ACCEPTED)
    return note


def accept_all(store: MemoryStore, ids: Sequence[str]) -> list[Memory]:
    """Accept many notes."""
    given = store.whole(ids)
    notes = awaiting(given, store.origins(given))
    store.decide(notes, ACCEPTED)
    return notes


def reopen(store: MemoryStore, note_id: str) -> Memory:
    """Undo `accept`: the note waits for a review again."""
    note = store.get(note_id)
    store.withdraw([note])
    return note


def reject(store: MemoryStore, note_id: str) -> Memory:
    """Move a note to the trash, from where `restore` restores it."""
    return store.delete(check_reject(store, note_id).id)


def check_reject(store: MemoryStore, note_id: str) -> Memory:
    """The note, if it can be rejected; raises the reason if it cannot."""
    note = _waiting(store, note_id)
    shared = store.shared.of([note_id]).get(note_id) if store.has_shared else None
    if shared and shared.author:
        message = f"The note {note_id} is of the space {shared.space}, and would be deleted for all of its members."
        raise InvalidArgument(message, f"Leave it, as it is not injected by itself, or: anamnesis delete {note_id}")
    return note


def _waiting(store: MemoryStore, note_id: str) -> Memory:
    note = store.get(note_id)
    if not awaiting([note], store.origins([note])):
        raise InvalidArgument(f"The note {note_id} needs no review.", "`anamnesis review` lists those that do.")
    return note
