"""Whose the notes are that the user has not written, and which of them no session is told before the user accepts them.

No field of a note that a tool can write counts: only its text, its source, its space and the mark of a hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from anamnesis.notes import Memory
from anamnesis.notes.acceptance import ACCEPTED, OWN
from anamnesis.notes.foreign import (
    CLAUDE_CODE,
    REVIEWED,
    SOURCE,
    TO_REVIEW,
    Origin,
    accepted_origin,
    as_held,
    origin_by,
)
from anamnesis.notes.spaces import is_shared, space_of
from anamnesis.store.shared_notes import UNKNOWN, Shared

if TYPE_CHECKING:
    from anamnesis.store.store import MemoryStore


def origins_of(store: MemoryStore, notes: Mapping[str, Memory]) -> dict[str, Origin]:
    """The origins of those of the notes, given with their front matter, that others wrote."""
    if not (has_begun := store.has_carried_over):
        notes = {id: as_held(note) for id, note in notes.items()}
    shared = store.shared.of(notes) if store.has_shared else {}
    projects = store.shared.projects() if shared else {}
    found: dict[str, Origin] = {}
    for id, note in notes.items():
        each = shared.get(id) or _unvouched(note) or Shared(id, "")
        theirs = projects.get(each.space, ()) if each.author != UNKNOWN else ()
        if origin := origin_by(note, each.author, each.space, theirs):
            found[id] = origin
    if found:
        foreign = [notes[id] for id in found]
        earlier = {} if has_begun else earlier_decisions(store, foreign)
        for id, decision in (earlier | store.accepted.of(foreign)).items():
            if origin := accepted_origin(found.pop(id), is_own=decision == OWN):
                found[id] = origin
    return found


def carry_over(store: MemoryStore) -> None:
    """Record once what a person accepted in earlier releases, and mark the notes of agents that wait for a review.

    The tags that recorded this mean nothing afterwards. A kill in between repeats it.
    """
    tagged = {id for tag in (REVIEWED, CLAUDE_CODE, TO_REVIEW) for id in store.tagged(tag)}
    notes = store.whole(tagged.union(store.shared.accepted() if store.has_shared else ()))
    store.put_all(marked for note in notes if (marked := as_held(note)) != note)
    decisions = earlier_decisions(store, notes)
    for decision in (ACCEPTED, OWN):
        store.accepted.decide([note for note in notes if decisions.get(note.id) == decision], decision)
    store.accepted.begin()


def earlier_decisions(store: MemoryStore, notes: Iterable[Memory]) -> dict[str, str]:
    """The decisions about imports that earlier releases recorded in tags, and about members' notes in shared.db."""
    accepted = store.shared.accepted() if store.has_shared else set()
    has_tags = store.has_earlier_tags
    found: dict[str, str] = {}
    for note in notes:
        is_import = has_tags and note.prov_source == SOURCE
        if note.id in accepted or (is_import and REVIEWED in note.tags):
            found[note.id] = ACCEPTED
        elif is_import and CLAUDE_CODE in note.tags and TO_REVIEW not in note.tags:
            found[note.id] = OWN
    return found


def _unvouched(note: Memory) -> Shared | None:
    """A note that names a shared space, of which neither a hub nor this program has recorded here who wrote it."""
    if not note.extra:
        return None
    space = space_of(note)
    return Shared(note.id, space, UNKNOWN) if is_shared(space) else None
