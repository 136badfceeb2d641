"""Covered episodes: durable notes hold all their statements, so they are no longer injected, but still found. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

from anamnesis.at_hand import open_ends
from anamnesis.capture.prose import prose, sentences
from anamnesis.capture.statements import statements_in
from anamnesis.dream.comparison import compare
from anamnesis.dream.proposal import Proposal, is_persons
from anamnesis.notes import Memory
from anamnesis.notes.marks import COVERED_BY, REFLECTED, SOURCES, linked, with_link, with_tag, without_link, without_tag
from anamnesis.recall.query import telling_words

COVERED, UNCOVERED = "covered", "uncovered"
_EPISODIC = "episodic"
_SURE = 0.88
# The suffix that capture adds to a user's statements.
_BY_USER = " (user)"
# The beginning and the last heading of a session record that capture wrote without a model.
_RECORD, _OUTCOME = "**Ask:**", "**Outcome:**"
# A sentence of fewer telling words, such as "Done, all tests pass", has no substance.
_FEWEST_WORDS = 5
# The share of a statement that a note must hold.
_LEAST_SHARE = 0.9
# An episode with more statements than this is a document.
_MOST_STATEMENTS = 40

# Returns the durable notes of an episode's project that may hold a statement.
Holders = Callable[[Memory, str], Iterable[Memory]]


def may_be_covered(note: Memory) -> bool:
    """Whether a note is an episode of a session or an agent, and not yet folded into durable notes."""
    return note.type == _EPISODIC and REFLECTED not in note.tags and not is_persons(note)


def substance(episode: Memory) -> list[str]:
    """The statements of an episode. In a session record, the request and the list of touched files are not statements.

    Returns none for an episode with open ends, because the next session needs it injected.
    """
    return list(_substance(episode.body))


@lru_cache(maxsize=1_024)
def _substance(body: str) -> tuple[str, ...]:
    if open_ends(body):
        return ()
    if body.startswith(_RECORD):
        _, _, outcome = body.rpartition(_OUTCOME)
        stated = [each.text.removesuffix(_BY_USER) for each in statements_in(body)]
        found = [*stated, *filter(_has_substance, _sentences(outcome))] if stated else []
    else:
        found = _sentences(body)
        found = found if any(map(_has_substance, found)) else []
    return tuple(dict.fromkeys(found)) if len(found) <= _MOST_STATEMENTS else ()


def _sentences(text: str) -> list[str]:
    lines = [line.text for line in prose(text) if not line.is_heading]
    return [each for line in lines for each in sentences(line) if telling_words(each)]


def _has_substance(sentence: str) -> bool:
    return len(telling_words(sentence)) >= _FEWEST_WORDS


def covered(episode: Memory, holders: Holders) -> Iterator[Proposal]:
    """Propose to mark an episode as covered if durable notes hold all that it states."""
    by: dict[str, Memory] = {}
    for statement in substance(episode):
        holder = next((note for note in holders(episode, statement) if _holds(note, statement)), None)
        if holder is None:
            return
        by[holder.id] = holder
    if by:
        ids = sorted(by)
        names = f'"{by[ids[0]].title}" says' if len(ids) == 1 else f"{len(ids)} durable notes say"
        after = with_tag(with_link(episode, COVERED_BY, *ids), REFLECTED)
        yield Proposal(COVERED, (episode.id, *ids), f"{names} all that this episode states.", _SURE, (after,))


def uncovered(episode: Memory, notes: Mapping[str, Memory]) -> Iterator[Proposal]:
    """Propose to remove the mark of an episode whose durable notes no longer hold it.

    `notes` are the notes that exist. A note that a reflection derived from the episode still covers it, in other words.
    """
    holders = [notes[id] for id in linked(episode, COVERED_BY) if id in notes]
    if len(holders) < len(linked(episode, COVERED_BY)) or any(episode.id in linked(note, SOURCES) for note in holders):
        return
    if not all(any(_holds(note, statement) for note in holders) for statement in substance(episode)):
        after = without_tag(without_link(episode, COVERED_BY, *(note.id for note in holders)), REFLECTED)
        reason = "The durable notes of this episode no longer say all that it states."
        yield Proposal(UNCOVERED, (episode.id, *(note.id for note in holders)), reason, _SURE, (after,))


def _holds(note: Memory, statement: str) -> bool:
    """Whether a note says what a statement says, without a difference."""
    said = compare(Memory(note.id, note.type, note.title, statement), note)
    return not said.differences and not said.lacks_other and said.share_of_one >= _LEAST_SHARE
