"""Episodes to be folded into durable notes, the proposals of a dream for them, and the notes that may hold a text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from anamnesis.dream.dream_database import REJECTED, REVIEW
from anamnesis.dream.kinds import is_record
from anamnesis.dream.proposal import Proposal
from anamnesis.notes import Memory, ending_of
from anamnesis.notes.foreign import awaiting, derived, unaccepted
from anamnesis.notes.record import GLOBAL
from anamnesis.plain import one_line
from anamnesis.reflect.folding import DURABLE, RULES, SOURCE, Folding
from anamnesis.reflect.rules import by_rules, own_wording
from anamnesis.reflect.wording import Wording, holds, wording
from anamnesis.store import MemoryStore
from anamnesis.store.tombstones import purged_ids

if TYPE_CHECKING:
    from anamnesis.dream.phases import Look

KIND = "reflect"
_CAPTURED = "session-end"
# The newest episodes of a project stay as they are: a new session gets them, to know what was done last.
_NEWEST = 2
# Episodes that one dream examines, and notes that one proposal changes, because only a small share may change.
_MOST, _MOST_TOGETHER = 50, 2
# Words by which a note is looked up, and hits that are compared where only a search finds notes.
_MOST_STEMS, _NEAR = 8, 4
_SURE = 0.9
_LONGEST_TITLE = 120

Fold = Callable[[Sequence[Memory]], list[Folding]]


def unreflected(store: MemoryStore, ids: Iterable[str]) -> list[Memory]:
    """Those of the episodes that may be folded, in their order.

    Episodes of other members of a team are folded by their own machines, or at the hub; imported ones only after their
    review.
    """
    wanted = [*ids]
    notes = {note.id: note for note in store.live(wanted)}
    others = {id for id, each in store.shared.of(notes).items() if not each.is_own}
    others |= {note.id for note in awaiting(notes.values(), store.origins(notes.values()))}
    return [notes[id] for id in wanted if id in notes and id not in others]


def with_sources_origin(store: MemoryStore, foldings: Iterable[Folding]) -> list[Folding]:
    """The foldings, with new notes that are as foreign as the most foreign of their episodes."""
    found = [*foldings]
    origins = store.origins({each.id: each for folding in found for each in folding.episodes}.values())
    if not origins:
        return found
    return [
        replace(each, learned=tuple(derived(note, each.episodes, origins) for note in each.learned)) for each in found
    ]


def find(look: Look, projects: Iterable[str]) -> Iterator[Proposal]:
    """Propose to fold the session records of some projects by rules, except for the newest of each project.

    Rules mistake the small talk in other episodes for conventions, so these are left to `anamnesis reflect`. An episode
    without anything durable, or with a proposal that a person decides, is not examined again until it changes.
    """
    left = _MOST
    fold = folding_by_rules(look.store)
    for project in projects:
        look.stop()
        hashes = {id: hash.hex() for id, hash in look.store.unreflected(project).items()}
        key = f"episodes {project}"
        seen = {id: hash for id, hash in json.loads(look.state(key) or "{}").items() if hashes.get(id) == hash}
        ids = [id for id in islice(hashes, max(0, len(hashes) - _NEWEST)) if id not in seen][:left]
        left -= len(ids)
        foldings = fold([each for each in unreflected(look.store, ids) if _is_of_session(each)])
        parts = [few for folding in foldings for few in _few(folding, fold)]
        proposals = [proposal_of(each) for each in with_sources_origin(look.store, parts)]
        statuses = look.statuses([proposal.key for proposal in proposals])
        decided = {
            id for each in proposals if statuses.get(each.key) in (REJECTED, REVIEW) for id in each.evidence["episodes"]
        }
        open = {episode.id for folding in foldings for episode in folding.episodes} - decided
        look.states[key] = json.dumps(seen | {id: hashes[id] for id in ids if id not in open})
        yield from proposals


def _is_of_session(episode: Memory) -> bool:
    return episode.prov_source == _CAPTURED or is_record(episode)


def folding_by_rules(store: MemoryStore) -> Fold:
    """The function that folds episodes of one project of a store by rules."""
    deleted = {ending_of(id) for id in (*(each.id for each in store.trashed()), *purged_ids(store.root))}
    earlier = cache(lambda project: _by_rules(store, project))

    def candidates(text: str, episode: Memory) -> list[Memory]:
        said = wording(text)
        shorter = (each for word in {*said.words} for each in earlier(episode.project).get(word, ()))
        less = [id for stated, id in shorter if holds(said, stated)]
        own = [note for note in store.live(less) if note.scope == episode.scope] if less else []
        return [*near(store, text, episode), *own]

    def is_taken(id: str) -> bool:
        return ending_of(id) in deleted or bool(store.hashes_of([id]))

    return lambda episodes: by_rules(episodes, candidates, is_taken)


def _by_rules(store: MemoryStore, project: str) -> dict[str, list[tuple[Wording, str]]]:
    """The wordings of notes that rules made, with their ids, by the longest word."""
    found: dict[str, list[tuple[Wording, str]]] = {}
    for note in store.list(project=project, source=SOURCE):
        own = own_wording(note)
        if note.prov_model == RULES and own.words:
            found.setdefault(max(own.words, key=len), []).append((own, note.id))
    return found


def near(store: MemoryStore, text: str, episode: Memory) -> list[Memory]:
    """The durable notes that may hold all of a text: of the project of an episode, or global ones.

    A machine-local note cannot cover a portable episode, because other machines do not have it, and no note covers it
    that the user has not accepted.
    """
    found = _near(store, text, episode)
    doubted = unaccepted(store.origins(found))
    return [note for note in found if note.id not in doubted]


def _near(store: MemoryStore, text: str, episode: Memory) -> list[Memory]:
    scope = "portable" if episode.scope == "portable" else None
    stems = sorted({*wording(text).words}, key=len, reverse=True)[:_MOST_STEMS]
    places = dict.fromkeys((episode.project, GLOBAL))
    if len(stems[0]) > 1:
        wanted = [stem for stem in stems if len(stem) > 1]
        return [note for place in places for note in store.having(wanted, project=place, scope=scope)]
    # The index has no words of one character for texts without spaces.
    hits = [
        hit
        for place in places
        for kind in DURABLE
        for hit in store.hits(text, project=place, type=kind, scope=scope, k=_NEAR, mode="words")
    ]
    return [hit.memory for hit in hits]


def proposal_of(folding: Folding) -> Proposal:
    """A folding as a proposal."""
    learned = [{"id": note.id, "title": note.title} for note in folding.learned]
    held = [*dict.fromkeys(id for links in folding.covered.values() for id in links)]
    sure = min((note.confidence for note in folding.learned), default=_SURE)
    evidence = {"episodes": [each.id for each in folding.episodes], "learned": learned, "held_by": held}
    return Proposal(KIND, folding.about, _reason(folding), sure, folding.after, evidence)


def _reason(folding: Folding) -> str:
    count = len(folding.episodes)
    who = "An episode" if count == 1 else f"{count} episodes"
    verb = "states" if count == 1 else "state"
    if not folding.learned:
        return f"{who} {verb} nothing that durable notes do not hold."
    first, *others = folding.learned
    more = f", and {len(others)} more" if others else ""
    return f"{who} {verb} what is worth a note: {one_line(first.title, _LONGEST_TITLE)}{more}."


def _few(folding: Folding, fold: Fold) -> list[Folding]:
    """The folding, or the part of it that one cycle may change in a small project; the next cycle folds the rest."""
    if len(folding.about) <= _MOST_TOGETHER:
        return [folding]
    for count in range(_MOST_TOGETHER, 0, -1):
        some = fold(folding.episodes[:count])
        if all(len(each.about) <= _MOST_TOGETHER for each in some):
            return some
    return [replace(each, confirmed=()) for each in some]
