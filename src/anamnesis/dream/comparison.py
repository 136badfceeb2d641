"""What two notes share and where they differ, sentence by sentence: a part that one lacks is no difference. Pure.

`compare` serves everything that looks at pairs: notes without a difference can be merged; a value that differs in
sentences that are otherwise the same is an update or a contradiction. It knows no model: how close two notes are in
meaning is for its callers to weigh.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from anamnesis.dream.alignment import Match, aligned, matched
from anamnesis.dream.grammar import CONDITIONS, QUALIFIERS
from anamnesis.dream.statements import Said, Statement, said
from anamnesis.dream.wording import DATE, WORD, Token, are_same, can_be, day_of, kind_of, texts
from anamnesis.notes import Memory

# Notes that share less than this of the shorter one's words are not compared sentence by sentence.
_LEAST_COMMON = 0.3
# Of the words that one note has, so many and one of so many more may be missing in one that says the same.
_MOST_MISSING, _MISSING_ONE_OF = 1, 8
# Words of a title that tell notes with the same text apart. Questions such as "When to restart" do not.
_TELLING = QUALIFIERS | CONDITIONS - {"when", "if", "where"}


class Difference(NamedTuple):
    """What each of two notes says at the same place; "" where only one says anything.

    `kind` is negation, version, path, command, number, unit, date, name, word or order.
    """

    kind: str
    one: str
    other: str

    @property
    def swapped(self) -> Difference:
        return Difference(self.kind, self.other, self.one)


@dataclass(frozen=True, slots=True)
class Comparison:
    """How much of each note's substance the other holds, and what forbids treating them as the same.

    `lacks_one` are the sentences and clauses of the other note that the first lacks, and `lacks_other` the reverse.
    `doubts` are what only their titles differ in: a person can tell whether they say the same.
    """

    share_of_one: float
    share_of_other: float
    differences: tuple[Difference, ...] = ()
    lacks_one: tuple[str, ...] = ()
    lacks_other: tuple[str, ...] = ()
    doubts: tuple[Difference, ...] = ()

    @property
    def swapped(self) -> Comparison:
        differences, doubts = (tuple(each.swapped for each in some) for some in (self.differences, self.doubts))
        return Comparison(self.share_of_other, self.share_of_one, differences, self.lacks_other, self.lacks_one, doubts)


def compare(one: Memory, other: Memory) -> Comparison:
    """Compare two notes; the same in both directions, with the sides swapped."""
    if (other.title, other.body) < (one.title, one.body):
        return _compared(said(other), said(one)).swapped
    return _compared(said(one), said(other))


def may_be_same(one: Memory, other: Memory) -> bool:
    """Whether one of two notes may hold all that the other says: a quick look that spares most comparisons."""
    first, second = said(one), said(other)
    return _may_hold(first, second) or _may_hold(second, first)


def _may_hold(first: Said, second: Said) -> bool:
    """Whether a note has the values and nearly all words of another one. Two words may stand for one."""
    if not second.values <= first.words:
        return False
    left = _MOST_MISSING + len(second.open) // _MISSING_ONE_OF
    for token in second.open:
        if can_be(token).isdisjoint(first.words):
            left -= 1
            if left < 0:
                return False
    return True


def _compared(one: Said, other: Said) -> Comparison:
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
    differ_in = tuple(Difference(*each) for each in differences)
    return Comparison(shares[0], shares[1], differ_in, lacks[1], lacks[0], tuple(doubts))


def _counterparts(
    one: Sequence[Statement],
    other: Sequence[Statement],
    heads: tuple[frozenset[str], frozenset[str]],
    *,
    is_loose: bool = False,
) -> tuple[list[Match], list[list[Statement]]]:
    """How the counterparts compare, and of each side the statements and clauses that have none."""
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
    one: Statement, other: Statement, heads: tuple[frozenset[str], frozenset[str]]
) -> tuple[Statement, Statement]:
    """The statements without their labels if these agree, or if the title of the other note says the same."""
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


def _share(side: Said, found: Iterable[Match]) -> float:
    """The part of a note's words that the other note holds."""
    total = sum(not token.is_weak and token.kind != DATE for each in side.body for token in each.tokens)
    return min(1.0, sum(match.common for match in found) / total) if total else 1.0


def _of_dates(one: list[Token], other: list[Token]) -> Iterable[tuple[str, str, str]]:
    """A date that only one note has is a stamp."""
    if one and other and not any(day_of(a).agrees(day_of(b)) for a in one for b in other):
        yield DATE, texts(one), texts(other)


def _of_titles(one: Said, other: Said) -> tuple[list[Difference], list[Difference]]:
    """What forbids a merge because of the titles, and what raises doubts.

    A word of a title adds something if the other note has it nowhere. If only one title does, the other one may just be
    less careful; if it says nothing at all, it is the beginning of the text, or a number.
    """
    sides = [
        [token for token in (side.title.tokens if side.title else ()) if not _is_held(token, others)]
        for side, others in ((one, other), (other, one))
    ]
    added = [*sides[0], *sides[1]]
    if not added:
        return [], []
    is_telling = any(token.kind != WORD or token.key in _TELLING for token in added)
    found = [Difference(kind_of(added), texts(sides[0]), texts(sides[1]))]
    if all(sides):
        return (found, []) if is_telling or found[0].kind != WORD else ([], found)
    silent = other if sides[0] else one
    return [], found if is_telling or silent.title else []


def _is_held(token: Token, side: Said) -> bool:
    return token.is_weak or token.kind == DATE or not can_be(token).isdisjoint(side.words)
