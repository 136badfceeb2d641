"""The gate for notes that agents write at the hub: the rules of `dream.gate`, on the notes of the note's space.

The hub keeps no log of drafts, so it refuses only a note whose every word another note has, and an agent in a loop. A
note that a machine's gate refuses because code or git can tell it is written here and held for a review.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from anamnesis.dream.admitting import Admission, accepted, carry_out, drafted
from anamnesis.dream.gate import MOST_A_MINUTE, MOST_DIRECTIVES, Verdict, judge
from anamnesis.hub.store import MACHINE, HubStore, SharedNote
from anamnesis.hub.tenancy import Held
from anamnesis.hub.versions import version_notes, written_lately
from anamnesis.notes import Memory
from anamnesis.notes.authorship import is_edited_by_hand
from anamnesis.notes.orders import is_directive
from anamnesis.notes.project_names import is_among
from anamnesis.store.repeating import longest_words

if TYPE_CHECKING:
    from anamnesis.store import MemoryStore

_MOST_CLOSE = 10
# The newest notes of a project among which those that give orders are counted.
_MOST_COUNTED = 200
_MOST_VERSIONS = 30
_IN_REVIEW = "It was written, and waits for a person's review."


def admit(store: HubStore, space: str | None, fields: dict[str, Any]) -> Admission:
    """Write a note with these fields, or do what the gate decides instead."""
    draft = drafted(machine_id=MACHINE, **fields)
    held = store.place(draft.project, space)
    store.lock(held)  # of two that say the same at the same time, the second finds the first
    verdict = _judged(store, held, draft)
    verdict, note = carry_out(cast("MemoryStore", store), verdict, draft, {**fields, "space": space})
    return Admission(verdict, note, 0)


def _judged(store: HubStore, held: Held, draft: Memory) -> Verdict:
    directives = _directives(store, held, draft.project) if is_directive(draft) else 0
    written = written_lately(store.db, held, store.caller.name, MACHINE, MOST_A_MINUTE)
    verdict = judge(
        draft, accepted(cast("MemoryStore", store), _close(store, held, draft)), directives=directives, written=written
    )
    if verdict.decision == "reject" and verdict.rule == "derivable":
        return Verdict("redirect", verdict.rule, f"{verdict.reason} {_IN_REVIEW}")
    if verdict.decision == "upsert" and verdict.note and _is_by_hand(store, held, verdict.note):
        return Verdict("allow", "new", "A person has edited the note that says nearly the same.")
    return verdict


def _close(store: HubStore, held: Held, draft: Memory) -> list[SharedNote]:
    """The notes of the same project and space that have most of the words of a draft, or of its title."""
    found: dict[str, SharedNote] = {}
    for text in (f"{draft.title} {draft.body}", draft.title):
        words = " ".join(longest_words(text))
        hits = store.hits(words, space=held.name, k=_MOST_CLOSE, mode="words") if words else []
        found |= {hit.memory.id: hit.memory for hit in hits if isinstance(hit.memory, SharedNote)}
    return [note for note in found.values() if is_among(note.project, [draft.project])]


def _directives(store: HubStore, held: Held, project: str) -> int:
    """How many notes of a project agents have written at the hub that give orders; as many as decide are counted."""
    notes = store.list(space=held.name, project=project, limit=_MOST_COUNTED)
    return min(sum(note.machine_id == MACHINE and is_directive(note) for note in notes), MOST_DIRECTIVES)


def _is_by_hand(store: HubStore, held: Held, note: Memory) -> bool:
    return is_edited_by_hand(version_notes(store.db, held, note.id, _MOST_VERSIONS))
