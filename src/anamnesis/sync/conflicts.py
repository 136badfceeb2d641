"""Notes that two machines changed in the same lines or the title: lists both versions, and resolves them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from anamnesis.errors import InvalidArgument, NoteNotFound
from anamnesis.notes import Memory
from anamnesis.notes.merge import CONFLICT_TAG, conflict_of, in_place_of, without_conflict_tag
from anamnesis.store import MemoryStore, changeset
from anamnesis.store.ids import utcnow

KEEP = ("this", "other", "both")
_KIND = "conflict"


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


class Resolved(NamedTuple):
    """The note that is kept, and how to undo that: the change that was made, if any, and the notes in the trash."""

    note: Memory
    change: str
    trashed: tuple[str, ...]


def resolve(store: MemoryStore, conflict: Conflict, keep: str) -> Resolved:
    """Resolve a conflict: keep this version, the other, or both as separate notes."""
    own = replace(without_conflict_tag(conflict.other), updated_at=utcnow())
    if keep == "both":
        return Resolved(own, _write(store, own), ())
    if keep == "this":
        if conflict.note is None:
            raise InvalidArgument(f"The note {conflict.id} has been deleted.", "Keep the other version, or both.")
        store.delete(conflict.other.id)
        return Resolved(conflict.note, "", (conflict.other.id,))
    trashed = (conflict.id, conflict.other.id) if conflict.note else (conflict.other.id,)
    if conflict.note:
        store.delete(conflict.id)  # to the trash: its current text may be nowhere else
    note = replace(in_place_of(conflict.note, own), id=conflict.id)
    change = _write(store, note)
    store.delete(conflict.other.id)
    return Resolved(note, change, trashed)


def _write(store: MemoryStore, note: Memory) -> str:
    return changeset.apply(store, [note], kind=_KIND, reason="A conflict was resolved.").id
