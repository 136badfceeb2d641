"""Folds episodes by rules: their statements become durable notes, unless such a note already holds them. Pure.

The result depends on the episodes and the notes alone, so that two machines write the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from anamnesis.capture.cues import CAUSE, DECISION, RULE
from anamnesis.capture.prose import prose, sentences
from anamnesis.capture.statements import Statement
from anamnesis.capture.title import title_of
from anamnesis.light import lazy_pattern
from anamnesis.notes import Memory, derived_id
from anamnesis.notes.authorship import is_claimed
from anamnesis.notes.marks import SOURCES, linked
from anamnesis.reflect.folding import RULES, SOURCE, Folding, Lesson, Stamp, confirmed, joined, note_of
from anamnesis.reflect.stated import durable_statements
from anamnesis.reflect.wording import Wording, holds, says_same, wording

_TYPES = {CAUSE: "procedural", DECISION: "procedural", RULE: "semantic"}
_TAGS = {CAUSE: "cause", DECISION: "decision", RULE: "convention"}
_LONGEST_BODY = 20_000
_UNTITLED = 80
_INTRODUCTION = lazy_pattern(
    r"(?:(?:ok|okay|so|also|and|but|please|remember(?: that|:)?+|from now on|going forward)[,:]?+ ++)++", re.IGNORECASE
)

# Returns the durable notes that may hold a statement of an episode, and the notes of ours that may say less.
Candidates = Callable[[str, Memory], Sequence[Memory]]


class _EpisodeStatement(NamedTuple):
    """A statement and its episode."""

    statement: Statement
    episode: Memory


def by_rules(episodes: Iterable[Memory], candidates: Candidates, is_deleted: Callable[[str], bool]) -> list[Folding]:
    """Fold episodes of one project. `is_deleted` tells whether a note with the ending of an id was deleted.

    An episode without a durable statement is in none of the foldings.
    """
    pieces = (_piece(group, candidates, is_deleted) for group in _groups(episodes))
    return [_with_confirmed(folding) for folding in joined([piece for piece in pieces if piece])]


def _groups(episodes: Iterable[Memory]) -> list[list[_EpisodeStatement]]:
    """The statements of the episodes, grouped by meaning, those of most episodes first."""
    groups: list[list[_EpisodeStatement]] = []
    by_longest: dict[str, list[int]] = {}
    by_word: dict[str, list[int]] = {}
    for episode in sorted(episodes, key=lambda each: (each.created_at, each.id)):
        for statement in durable_statements(episode):
            said, each = wording(statement.text), _EpisodeStatement(statement, episode)
            # Of two statements with the same meaning, the longer one has the longest word of the shorter.
            longest = max(said.words, key=len)
            near = [place for word in said.words for place in by_longest.get(word, ())] + by_word.get(longest, [])
            same = next((groups[place] for place in near if _are_same(groups[place][0], each)), None)
            if same is None:
                by_longest.setdefault(longest, []).append(len(groups))
                for word in {*said.words}:
                    by_word.setdefault(word, []).append(len(groups))
                groups.append([each])
            else:
                same.append(each)
    return sorted(groups, key=lambda group: -len({said.episode.id for said in group}))


def _are_same(one: _EpisodeStatement, other: _EpisodeStatement) -> bool:
    is_alike = one.statement.kind == other.statement.kind and one.episode.scope == other.episode.scope
    return is_alike and says_same(wording(one.statement.text), wording(other.statement.text))


def _piece(
    group: Sequence[_EpisodeStatement], candidates: Candidates, is_deleted: Callable[[str], bool]
) -> Folding | None:
    """The folding of one statement: covered by a note, or a new note; None if that note was deleted before."""
    best = max(group, key=lambda said: (said.statement.by_user, len(wording(said.statement.text).words))).statement
    said = wording(best.text)
    episodes = tuple({each.episode.id: each.episode for each in group}.values())
    near = candidates(best.text, episodes[0])
    holding = next((note for note in near if any(holds(unit, said) for unit in units(note))), None)
    if holding:
        covered = {episode.id: (holding.id,) for episode in episodes}
        is_news = _is_ours(holding) and not {*covered} <= {*linked(holding, SOURCES)}
        return Folding(episodes, confirmed=(holding,) if is_news else (), covered=covered)
    less = [
        note for note in near if _is_ours(note) and note.scope == episodes[0].scope and holds(said, own_wording(note))
    ]
    note = _note(best, episodes, less)
    return None if is_deleted(note.id) else Folding(episodes, (note,))


def _with_confirmed(folding: Folding) -> Folding:
    """The folding with its confirmed notes updated, now that all of their new sources are known."""
    surer = (
        confirmed(note, [each for each in folding.episodes if note.id in folding.covered.get(each.id, ())])
        for note in folding.confirmed
    )
    return replace(folding, confirmed=tuple(surer))


def _note(statement: Statement, episodes: Sequence[Memory], less: Sequence[Memory]) -> Memory:
    """The durable note of a statement, which supersedes those that say less."""
    first = min(episodes, key=lambda each: (each.created_at, each.id))
    newest = max(episodes, key=lambda each: (each.updated_at, each.id))
    lesson = Lesson(
        title=_title(statement.text),
        body=f"{statement.text}\n\nFrom: {' '.join(first.title.split())} ({first.created_at[:10]})",
        type=_TYPES[statement.kind],
        sources=tuple(dict.fromkeys([*(each.id for each in episodes), *_sources(less)])),
        tags=(_TAGS[statement.kind],),
        supersedes=tuple(note.id for note in less),
    )
    name = "\n".join((SOURCE, first.project, first.scope, *wording(statement.text).words))
    stamp = Stamp(RULES, newest.machine_id, newest.updated_at)
    note = note_of(lesson, episodes, stamp, derived_id(first.created_at, name))
    return replace(note, created_at=first.created_at)


def _title(text: str) -> str:
    """The title of a statement, without the words that introduce it."""
    title = title_of([text]) or text[:_UNTITLED]
    bare = title[found.end() :] if (found := _INTRODUCTION.match(title)) else title
    return f"{bare[:1].upper()}{bare[1:]}" if bare else title


def _sources(notes: Iterable[Memory]) -> Iterator[str]:
    for note in notes:
        yield from linked(note, SOURCES)


def _is_ours(note: Memory) -> bool:
    """Whether rules wrote a note, and no person has edited or pinned it."""
    return (note.prov_source, note.prov_model) == (SOURCE, RULES) and not is_claimed(note)


def own_wording(note: Memory) -> Wording:
    """The statement of a note of ours."""
    return wording(note.body.partition("\n\n")[0])


def units(note: Memory) -> Iterator[Wording]:
    """The wordings of a note's title and sentences."""
    yield wording(note.title)
    for line in prose(note.body[:_LONGEST_BODY]):
        yield from map(wording, sentences(line.text))
