"""Compares two notes sentence by sentence: what they share and where they differ. An omission is no difference. Pure.

`compare` is used wherever pairs are examined: notes without a difference can be merged; a value that differs in
otherwise equal sentences is an update or a contradiction. It uses no model: its callers weigh the closeness in meaning.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from anamnesis.dream.alignment import Match, aligned, matched
from anamnesis.dream.grammar import CONDITIONS, QUALIFIERS
from anamnesis.dream.note_statements import NoteContent, NoteStatement, content_of
from anamnesis.dream.tokens import DATE, WORD, Token, are_same, can_be, day_of, kind_of, texts
from anamnesis.notes import Memory

# Notes that share less than this of the shorter one's words are not compared sentence by sentence.
_LEAST_COMMON = 0.3
# A note that says the same may lack one word of the other, and one more for each eight words of the other.
_MOST_MISSING, _MISSING_ONE_OF = 1, 8
# Words of a title that distinguish notes with the same text. Question words, as in "When to restart", do not.
_TELLING = QUALIFIERS | CONDITIONS - {"when", "if", "where"}


class NoteDifference(NamedTuple):
    """What each of two notes says in the same place; "" if one says nothing there.

    `kind` is negation, version, path, command, number, unit, date, name, word or order.
    """

    kind: str
    one: str
    other: str

    @property
    def swapped(self) -> NoteDifference:
        return NoteDifference(self.kind, self.other, self.one)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The share of each note's substance that the other holds, and the differences that rule out a merge.

    `lacks_one` are the sentences and clauses of the other note that the first lacks, and `lacks_other` the reverse.
    `doubts` are differences of the titles alone: a person decides whether the notes say the same.
    """

    share_of_one: float
    share_of_other: float
    differences: tuple[NoteDifference, ...] = ()
    lacks_one: tuple[str, ...] = ()
    lacks_other: tuple[str, ...] = ()
    doubts: tuple[NoteDifference, ...] = ()

    @property
    def swapped(self) -> Comparison:
        differences, doubts = (tuple(each.swapped for each in some) for some in (self.differences, self.doubts))
        return Comparison(self.share_of_other, self.share_of_one, differences, self.lacks_other, self.lacks_one, doubts)


def compare(one: Memory, other: Memory) -> Comparison:
    """Compare two notes; swapping the notes swaps the sides of the result."""
    if (other.title, other.body) < (one.title, one.body):
        return _compared(content_of(other), content_of(one)).swapped
    return _compared(content_of(one), content_of(other))


def may_be_same(one: Memory, other: Memory) -> bool:
    """Whether one of two notes may hold all that the other says: a quick check that saves most comparisons."""
    first, second = content_of(one), content_of(other)
    return _may_hold(first, second) or _may_hold(second, first)


def _may_hold(first: NoteContent, second: NoteContent) -> bool:
    """Whether a note has the values and nearly all words of another one, synonyms included."""
    if not second.values <= first.words:
        return False
    left = _MOST_MISSING + len(second.open) // _MISSING_ONE_OF
    for token in second.open:
        if can_be(token).isdisjoint(first.words):
            left -= 1
            if left < 0:
                return False
    return True


def _compared(one: NoteContent, other: NoteContent) -> Comparison:
    common = len(one.keys & other.keys)
    if common < _LEAST_COMMON * min(len(one.keys), len(other.keys)):
        every = [tuple(statement.text for statement in side.body) for side in (other, one)]
        return Comparison(common / len(one.keys), common / len(other.keys), (), every[0], every[1])
    heads = one.head, other.head
    found, left = _counterparts(one.body, other.body, heads)
    if all(left):  # a sentence here may be a clause there
        more, left = _counterparts(left[0], left[1], heads, is_loose=True)
        found += more
    titles = [side.title.keys if side.title else None for side in (other, one)]
    left = [[each for each in some if each.keys != title] for some, title in zip(left, titles, strict=True)]
    stamps = [[each for each in some if each.is_all_stamp] for some in left]
    dates = [
        [
            *side.dates,
            *(token for match in found for token in match.dates[number]),
            *(token for each in stamps[number] for token in each.tokens if token.kind == DATE),
        ]
        for number, side in enumerate((one, other))
    ]
    lacks = [tuple(each.text for each in left[number] if each not in stamps[number]) for number in (0, 1)]
    differ, doubts = _of_titles(one, other)
    differences = (*differ, *(each for match in found for each in match.differences), *_of_dates(*dates))
    shares = [_share(side, found) for side in (one, other)]
    differ_in = tuple(NoteDifference(*each) for each in differences)
    return Comparison(shares[0], shares[1], differ_in, lacks[1], lacks[0], tuple(doubts))


def _counterparts(
    one: Sequence[NoteStatement],
    other: Sequence[NoteStatement],
    heads: tuple[frozenset[str], frozenset[str]],
    *,
    is_loose: bool = False,
) -> tuple[list[Match], list[list[NoteStatement]]]:
    """The comparisons of the counterparts, and for each side the statements and clauses without a counterpart."""
    pairs = aligned(one, other, is_loose=is_loose)
    ends = len(one) - 1, len(other) - 1
    found = [matched(*_labelled(one[a], other[b], heads), is_last=(a == ends[0], b == ends[1])) for a, b in pairs]
    taken = [{pair[number] for pair in pairs} for number in (0, 1)]
    left = [
        [
            *(clause for match in found for clause in match.omitted[number]),
            *(statement for at, statement in enumerate(side) if at not in taken[number]),
        ]
        for number, side in enumerate((one, other))
    ]
    return found, left


def _labelled(
    one: NoteStatement, other: NoteStatement, heads: tuple[frozenset[str], frozenset[str]]
) -> tuple[NoteStatement, NoteStatement]:
    """The statements without their labels if the labels agree, or if the title of the other note has the label."""
    first, second = one.label, other.label
    if len(first) == len(second):
        agree = all(map(are_same, first, second))
    else:
        agree = not (first and second) and all(
            not can_be(token).isdisjoint(head)
            for label, head in ((first, heads[1]), (second, heads[0]))
            for token in label
        )
    return (one, other) if agree else (one.whole, other.whole)


def _share(side: NoteContent, found: Iterable[Match]) -> float:
    """The share of a note's words that the other note holds."""
    total = sum(not token.is_weak and token.kind != DATE for each in side.body for token in each.tokens)
    return min(1.0, sum(match.common for match in found) / total) if total else 1.0


def _of_dates(one: list[Token], other: list[Token]) -> Iterable[tuple[str, str, str]]:
    """The difference of the dates, if both notes have dates and none agrees; a date in only one note is a stamp."""
    if one and other and not any(day_of(a).agrees(day_of(b)) for a in one for b in other):
        yield DATE, texts(one), texts(other)


def _of_titles(one: NoteContent, other: NoteContent) -> tuple[list[NoteDifference], list[NoteDifference]]:
    """The differences of the titles that rule out a merge, and those that raise doubts.

    A word of a title adds something if the other note has it nowhere. If only one title adds something, the other may
    just be less precise; a title that says nothing is the beginning of the text, or a number.
    """
    sides = [
        [token for token in (side.title.tokens if side.title else ()) if not _is_held(token, others)]
        for side, others in ((one, other), (other, one))
    ]
    added = [*sides[0], *sides[1]]
    if not added:
        return [], []
    is_telling = any(token.kind != WORD or token.key in _TELLING for token in added)
    found = [NoteDifference(kind_of(added), texts(sides[0]), texts(sides[1]))]
    if all(sides):
        return (found, []) if is_telling or found[0].kind != WORD else ([], found)
    silent = other if sides[0] else one
    return [], found if is_telling or silent.title else []


def _is_held(token: Token, side: NoteContent) -> bool:
    return token.is_weak or token.kind == DATE or not can_be(token).isdisjoint(side.words)
