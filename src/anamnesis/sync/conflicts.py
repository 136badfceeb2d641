"""Notes that two machines changed in the same lines: lists both versions, and resolves them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from anamnesis.errors import InvalidArgument, NoteNotFound
from anamnesis.notes import Memory
from anamnesis.notes.merge import CONFLICT_TAG, conflict_of, in_place_of, without_conflict_tag
from anamnesis.store import MemoryStore
from anamnesis.store.ids import utcnow

KEEP = ("this", "other", "both")


@dataclass(frozen=True, slots=True)
class Conflict:
    """A note and its other version; the note may have been deleted since."""

    id: str
    note: Memory | None
    other: Memory


def list_conflicts(store: MemoryStore) -> list[Conflict]:
    """All unresolved conflicts, the newest first."""
    found = []
    for other_id in store.tagged(CONFLICT_TAG):
        other = store.find(other_id)
        note_id = conflict_of(other) if other else ""
        if other and note_id:
            found.append(Conflict(note_id, store.find(note_id), other))
    return sorted(found, key=lambda conflict: (conflict.other.updated_at, conflict.other.id), reverse=True)


def find_conflicts(store: MemoryStore, given: str) -> list[Conflict]:
    """The conflicts of a note or of an other version, given by a prefix of its id."""
    known = list_conflicts(store)
    wanted = given.upper()
    found = [each for each in known if each.id.upper().startswith(wanted) or each.other.id.upper().startswith(wanted)]
    if not found:
        raise NoteNotFound(f"No conflict is about {given!r}.", "`anamnesis conflicts` lists them.")
    if len({each.id for each in found}) > 1:
        names = ", ".join(sorted({each.id for each in found}))
        raise NoteNotFound(f"{given!r} begins the ids of several notes: {names}.", "Give more of it.")
    return found


def resolve(store: MemoryStore, conflict: Conflict, keep: str) -> Memory:
    """Resolve a conflict: keep this version, the other, or both as separate notes. Returns the one that is kept."""
    own = without_conflict_tag(conflict.other)
    if keep == "both":
        return store.update(conflict.other.id, tags=own.tags, extra=own.extra)
    if keep == "other":
        if conflict.note:
            store.delete(conflict.id)  # to the trash: its current text may be nowhere else
        note = store.put(replace(in_place_of(conflict.note, own), id=conflict.id, updated_at=utcnow()))
    elif conflict.note:
        note = conflict.note
    else:
        raise InvalidArgument(f"The note {conflict.id} has been deleted.", "Keep the other version, or both.")
    store.delete(conflict.other.id)
    return note
