"""The phases of a dream in order: each reads the notes that its pure functions compare, and returns proposals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from anamnesis.dream import episodes, gone
from anamnesis.dream.alike import NotePair, duplicates
from anamnesis.dream.chains import chains
from anamnesis.dream.comparison import compare, may_be_same
from anamnesis.dream.covered import covered, may_be_covered, substance, uncovered
from anamnesis.dream.features import rarity
from anamnesis.dream.kinds import mistyped
from anamnesis.dream.misplaced import misplaced
from anamnesis.dream.proposal import Proposal
from anamnesis.dream.sketches import Sketches
from anamnesis.dream.thesaurus import stem
from anamnesis.dream.updates import excluding, partners, resolved, updates
from anamnesis.notes import Memory
from anamnesis.notes.marks import COVERED_BY, linked
from anamnesis.recall.query import telling_words
from anamnesis.store import MemoryStore
from anamnesis.store.lookup import holding

PHASES = ("scan", "classify", "place", "consolidate", "prune", "sync")
# Pairs of notes per batch.
_PAIRS = 500
# Up to this many changed notes, the episodes that they may cover are searched for.
_FEW = 200
# The number of rarest words by which the notes that hold a statement are found.
_RAREST = 8


@dataclass(frozen=True, slots=True)
class Look:
    """The input of a phase: the live notes that changed, and access to the others.

    `folders` are the working copies by project, `state` returns the saved state of each, and `states` collects the new
    states. `stop` raises if the cycle has to stop. `renamed` maps projects to the new key of their working copy. `open`
    returns the notes with an open proposal of a kind, `withdrawn` collects the keys of proposals that are no longer
    valid, and `statuses` returns the statuses of earlier proposals by their keys. `changed` are the ids of all notes
    that changed, including deleted and superseded ones. `most` returns how many notes of a project may change in one
    cycle.
    """

    store: MemoryStore
    sketches: Sketches
    notes: Mapping[str, Memory]
    folders: Mapping[str, Path]
    state: Callable[[str], str]
    stop: Callable[[], bool]
    statuses: Callable[[Iterable[str]], Mapping[str, str]]
    most: Callable[[str], int]
    states: dict[str, str] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    open: Callable[[str], set[str]] = lambda _kind: set()
    withdrawn: set[str] = field(default_factory=set)
    changed: frozenset[str] = frozenset()

    def pairs(self) -> Iterator[tuple[Memory, Memory, float | None]]:
        """Pairs of notes that may say the same, at least one of which changed, with the closeness of their meanings."""
        pairs = sorted(self.sketches.pairs(self.notes))
        for start in range(0, len(pairs), _PAIRS):
            self.stop()
            some = pairs[start : start + _PAIRS]
            others = {id for pair in some for id in pair} - self.notes.keys()
            notes = {**self.notes, **{note.id: note for note in self.store.live(others)}}
            close = self.store.ranking.between(some)
            for one, other in some:
                if one in notes and other in notes:
                    yield notes[one], notes[other], close.get((one, other))


def find_in_notes(look: Look, phases: Sequence[str]) -> Iterator[Proposal]:
    """The proposals of the phases about the notes that changed."""
    if "classify" in phases:
        yield from mistyped(look.notes.values())
    if "consolidate" in phases:
        yield from _consolidate(look)
    if "prune" in phases:
        yield from _prune(look)
        yield from gone.find_in_changed(look)


def find_in_projects(look: Look, phases: Sequence[str], projects: Iterable[str]) -> Iterator[Proposal]:
    """The proposals of the phases about whole projects in which a note changed."""
    if "place" in phases:
        yield from misplaced(look, projects)
    if "consolidate" in phases:
        yield from episodes.find(look, sorted(projects))
    if "prune" in phases:
        yield from gone.find_in_copies(look)


def _consolidate(look: Look) -> Iterator[Proposal]:
    pairs = []
    for one, other, closeness in look.pairs():
        if found := excluding(one, other):  # such notes do not say the same, whatever else they share
            yield from updates(NotePair(one, other, compare(one, other), closeness), found)
        elif may_be_same(one, other):
            pairs.append(NotePair(one, other, compare(one, other), closeness))
    yield from duplicates(pairs, look.most)
    yield from _resolved(look)


def _resolved(look: Look) -> Iterator[Proposal]:
    """Proposals to remove links that are no longer valid, because one of the notes changed or is gone."""
    linking = look.store.linking(look.changed)
    some = {**{note.id: note for note in look.store.live(linking)}, **look.notes}
    notes = {note.id: note for note in look.store.whole({id for note in some.values() for id in partners(note)})}
    for note in some.values():
        yield from resolved(note, notes, look.changed - notes.keys())


def _prune(look: Look) -> Iterator[Proposal]:
    supersessions = look.store.supersessions(look.changed)
    if supersessions:
        ids = {id for newer, older in supersessions.items() for id in (newer, *older)}
        yield from chains(supersessions, {note.id: note for note in look.store.whole(ids)})
    linking = [note for note in look.store.live(look.store.linking(look.changed)) if linked(note, COVERED_BY)]
    holders = {note.id: note for note in look.store.whole(id for each in linking for id in linked(each, COVERED_BY))}
    for episode in linking:
        yield from uncovered(episode, holders)
    for episode in _episodes(look):
        look.stop()
        yield from covered(episode, lambda episode, text: _holding(look, episode.project, text, episodic=False))


def _episodes(look: Look) -> list[Memory]:
    """The episodes that changed, and those that a changed durable note may cover.

    If many notes changed, as in the first cycle, the latter are skipped: all episodes are then among the changed ones.
    """
    found = dict(look.notes)
    if len(look.notes) <= _FEW:
        for note in look.notes.values():
            for statement in substance(note) if note.type != "episodic" else ():
                found |= {each.id: each for each in _holding(look, note.project, statement, episodic=True)}
    return [note for note in found.values() if may_be_covered(note)]


def _holding(look: Look, project: str, text: str, *, episodic: bool) -> list[Memory]:
    """The notes of a project that have the rarest words of a text. Searching for common words as well would be slow."""
    words = sorted(telling_words(text), key=lambda word: rarity(stem(word)))[:_RAREST]
    found = holding(look.store, words, project=project, episodic=episodic)
    return sorted(look.store.live(found), key=lambda note: note.id) if found else []
