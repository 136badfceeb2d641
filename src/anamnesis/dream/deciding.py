"""Which proposals of a cycle are applied, which wait for a later one, and which a person decides. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from anamnesis.dream.proposal import Proposal, is_persons
from anamnesis.notes import Memory

# A proposal that is less sure than this goes to a person.
THRESHOLD = 0.8
# In a small project, this many notes may change in a cycle however small the share is: a merge needs two.
_LEAST = 2


class Decided(NamedTuple):
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
) -> Decided:
    """Decide about proposals, the surest first.

    `notes` are those that the proposals are about or change, `by_hand` those of them that a person has edited,
    `doubted` the keys of proposals that a person has rejected in another form, and `size` says how many notes a project
    has. Of each project, at most `share` changes in one cycle. No note is changed twice.
    """
    decided = Decided([], [], [])
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
