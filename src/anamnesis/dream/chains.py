"""Chains of notes that supersede each other: proposes that the newest note supersedes all the others directly. Pure.

Otherwise a note reappears when the note between is deleted, and notes that supersede each other in a circle are all
hidden.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace

from anamnesis.dream.proposal import Proposal
from anamnesis.notes import Memory

CHAIN, CIRCLE = "chain", "circle"
_SURE = {CHAIN: 1.0, CIRCLE: 0.9}


def chains(supersedes: Mapping[str, Set[str]], notes: Mapping[str, Memory]) -> Iterator[Proposal]:
    """Propose that the newest note of each chain supersedes the others directly.

    `supersedes` has the ids that each note supersedes, and `notes` the notes that exist; other ids stay unchanged.
    """
    known = {newer: older & notes.keys() for newer, older in supersedes.items() if newer in notes}
    by: dict[str, set[str]] = {}
    for newer, older in known.items():
        for id in older:
            by.setdefault(id, set()).add(newer)
    left = {*known}
    for id in sorted(known.keys() - by.keys()):
        reached = _reached(id, known)
        if reached > known[id]:
            yield _chain(notes[id], [notes[each] for each in sorted(reached)])
        left -= {id, *reached}
    while left:  # the rest is in circles, or reachable only from circles
        id = min(left)
        while above := _reached(id, by) - (reached := _reached(id, known)):
            id = min(above)
        circle = reached & _reached(id, by)
        yield _circle([notes[each] for each in sorted(circle)], reached, known)
        left -= reached


def _reached(id: str, steps: Mapping[str, Set[str]]) -> set[str]:
    """All notes that can be reached from one, in one or more steps."""
    reached: set[str] = set()
    left = [id]
    while left:
        new = steps.get(left.pop(), frozenset()) - reached
        reached |= new
        left += new
    return reached


def _chain(head: Memory, others: list[Memory]) -> Proposal:
    ids = [note.id for note in others]
    reason = f"Hiding {_listed(ids, head)} should not depend on a note that is superseded itself."
    return Proposal(CHAIN, (head.id, *ids), reason, _SURE[CHAIN], (_superseding(head, ids),))


def _circle(circle: list[Memory], reached: Set[str], known: Mapping[str, Set[str]]) -> Proposal:
    """Propose to show the newest note of a circle again; the others stay hidden."""
    newest = max(circle, key=lambda note: (note.updated_at, note.id))
    others = [
        replace(note, supersedes=[id for id in note.superseded if id != newest.id])
        for note in circle
        if note is not newest and newest.id in known[note.id]
    ]
    kept = _superseding(newest, [id for id in sorted(reached) if id != newest.id])
    kept = replace(kept, supersedes=[id for id in kept.superseded if id != newest.id])
    after = [note for note in (kept, *others) if note not in circle]
    reason = "Notes that supersede each other are all hidden; the newest should be shown again."
    if len(circle) == 1:
        reason = "A note that supersedes itself is hidden."
    return Proposal(CIRCLE, tuple(note.id for note in circle), reason, _SURE[CIRCLE], tuple(after))


def _superseding(note: Memory, ids: list[str]) -> Memory:
    """The note, superseding these ids as well; its text is unchanged, so its times stay."""
    return replace(note, supersedes=[*dict.fromkeys([*note.superseded, *ids])])


def _listed(ids: list[str], head: Memory) -> str:
    new = [id for id in ids if id not in head.superseded]
    return new[0] if len(new) == 1 else f"{len(new)} notes"
