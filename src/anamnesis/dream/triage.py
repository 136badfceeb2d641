"""Decides which proposals a cycle applies, which wait for a later cycle, and which go to a person. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from anamnesis.dream.proposal import Proposal, is_persons
from anamnesis.notes import Memory

# A proposal with less confidence than this goes to a person.
THRESHOLD = 0.8
# At least this many notes of a project may change in a cycle, however small the share: a merge needs two.
_LEAST = 2


class Decisions(NamedTuple):
    """The proposals to apply, those that wait for a later cycle, and those for a person."""

    applied: list[Proposal]
    waiting: list[Proposal]
    review: list[Proposal]


def decide(
    proposals: Iterable[Proposal],
    notes: Mapping[str, Memory],
    *,
    by_hand: Collection[str],
    size: Callable[[str], int],
    share: float,
    doubted: Collection[str] = (),
) -> Decisions:
    """Decide about proposals, the most confident first.

    `notes` are those that the proposals are about or change, `by_hand` those of them that a person has edited,
    `doubted` the keys of proposals that a person has rejected in another form, and `size` returns the number of notes
    of a project. At most `share` of a project changes in one cycle. No note is changed twice.
    """
    decided = Decisions([], [], [])
    most: dict[str, int] = {}
    left: dict[str, int] = {}
    taken: set[str] = set()
    for proposal in sorted(proposals, key=lambda each: (-each.confidence, each.key)):
        changed = [notes[id] for id in _changes(proposal) if id in notes]
        costs = Counter(note.project for note in changed)
        for project in costs.keys() - most.keys():
            most[project] = left[project] = most_changes(size(project), share)
        about = {*proposal.notes, *_changes(proposal)}
        is_persons_own = any(is_persons(note) or note.id in by_hand for note in changed)
        fits = all(cost <= most[project] for project, cost in costs.items())  # else it would wait for ever
        if proposal.confidence < THRESHOLD or not fits or is_persons_own or proposal.key in doubted:
            decided.review.append(proposal)
        elif any(cost > left[project] for project, cost in costs.items()) or taken & about:
            decided.waiting.append(proposal)
        else:
            decided.applied.append(proposal)
            taken |= about
            for project, cost in costs.items():
                left[project] -= cost
    return decided


def most_changes(size: int, share: float) -> int:
    """How many notes of a project of this size may change in one cycle."""
    return max(_LEAST, int(size * share))


def _changes(proposal: Proposal) -> list[str]:
    """The notes that a proposal writes or hides."""
    return list(dict.fromkeys(id for note in proposal.after for id in (note.id, *note.superseded)))
