"""Which sentences of two notes are counterparts, and which words of counterparts differ. Pure."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from anamnesis.dream.note_statements import NoteStatement
from anamnesis.dream.thesaurus import are_alike, bases
from anamnesis.dream.tokens import DATE, Token, are_same, can_be, kind_of, stands_for, texts

# Sentences are counterparts if they share this part of the shorter one's words, synonyms included.
_COUNTERPARTS = 0.5
# The part of these words that must be shared without synonyms.
_LEAST_RAW = 0.2
_MOST_LOOSE = 100
# A sentence that was truncated has at least this many words left.
_LEAST_LEFT = 8
# A clause of one word may be the rest of a clause in which another word was replaced.
_LEAST_CLAUSE = 2

Places = list[int]


@dataclass(frozen=True, slots=True)
class Match:
    """The comparison of two counterparts: the number of common words, the differences as (kind, one, other), and for
    each side the clauses that the other omits and the dates that the other lacks.
    """

    common: int
    differences: tuple[tuple[str, str, str], ...] = ()
    omitted: tuple[tuple[NoteStatement, ...], tuple[NoteStatement, ...]] = ((), ())
    dates: tuple[tuple[Token, ...], tuple[Token, ...]] = ((), ())


def aligned(
    one: Sequence[NoteStatement], other: Sequence[NoteStatement], *, is_loose: bool = False
) -> list[tuple[int, int]]:
    """The positions of counterparts in both texts, in the order of the first. The best pairs are chosen first.

    If `is_loose`, statements that share only synonyms can be counterparts too.
    """
    is_loose = is_loose and len(one) * len(other) <= _MOST_LOOSE
    pairs = _identical(one, other)
    taken = {pair[0] for pair in pairs}, {pair[1] for pair in pairs}
    holders: dict[str, set[int]] = {}
    for at, statement in enumerate(other):
        for key in statement.keys if at not in taken[1] else ():
            holders.setdefault(key, set()).add(at)
    scored = [
        (-score, abs(a / len(one) - b / len(other)), a, b)
        for a, statement in enumerate(one)
        if a not in taken[0]
        for b in (
            range(len(other)) if is_loose else set[int]().union(*(holders.get(key, ()) for key in statement.keys))
        )
        if (score := _score(statement, other[b], 0.0 if is_loose else _LEAST_RAW))
    ]
    for _, _, a, b in sorted(scored):
        if a not in taken[0] and b not in taken[1]:
            taken[0].add(a)
            taken[1].add(b)
            pairs.append((a, b))
    return sorted(pairs)


def _identical(one: Sequence[NoteStatement], other: Sequence[NoteStatement]) -> list[tuple[int, int]]:
    """The positions of statements with the same words, in the order of both texts."""
    free: dict[tuple[object, ...], list[int]] = {}
    for b in reversed(range(len(other))):
        free.setdefault(other[b].identity, []).append(b)
    keys = ((a, free.get(statement.identity)) for a, statement in enumerate(one))
    return [(a, places.pop()) for a, places in keys if places]


def _score(one: NoteStatement, other: NoteStatement, least_raw: float) -> float:
    """How well two statements match; 0 if they are not counterparts."""
    if one.is_code != other.is_code:
        return 0.0
    shared = len(one.keys & other.keys)
    least, most = sorted((len(one.keys), len(other.keys)))
    if not least or shared < least_raw * least:
        return 0.0
    if shared < _COUNTERPARTS * least:
        shared += len(_renamed(one.tokens, other.tokens))
    share = min(1.0, shared / least)
    return share + shared / most / 2 if share >= _COUNTERPARTS else 0.0


def _renamed(one: Sequence[Token], other: Sequence[Token]) -> dict[str, str]:
    """Maps the keys of words that only the first text has to those of their synonyms in the other."""
    mine, theirs = {token.key for token in one}, {token.key for token in other}
    free: dict[str, list[str]] = {}
    for token in other:
        if token.key not in mine:
            for base in stands_for(token):
                free.setdefault(base, []).append(token.key)
    found: dict[str, str] = {}
    taken: set[str] = set()
    order = {token.key: at for at, token in reversed([*enumerate(other)])}
    for token in one:
        if free and token.key not in theirs and token.key not in found:
            keys = [key for word in can_be(token) & free.keys() for key in free[word] if key not in taken]
            if token.kind == DATE:
                keys = [each.key for each in other if each.kind == DATE and are_same(token, each)]
            if keys:
                found[token.key] = min(keys, key=order.__getitem__)
                taken.add(found[token.key])
    return found


def matched(one: NoteStatement, other: NoteStatement, is_last: tuple[bool, bool]) -> Match:
    """Compare two counterparts; `is_last` tells for each whether it ends its text."""
    first, second = _joined(one, other), _joined(other, one)
    renamed = _renamed(first.tokens, second.tokens)
    keys = [renamed.get(token.key, token.key) for token in first.tokens], [token.key for token in second.tokens]
    anchors = _anchors(*keys)
    places = {**anchors, **_moved(*keys, anchors)}
    places |= _replaced(first, second, anchors, places)
    left = (
        [at for at in range(len(keys[0])) if at not in places],
        [at for at in range(len(keys[1])) if at not in {*places.values()}],
    )
    common = sum(not first.tokens[at].is_weak and first.tokens[at].kind != DATE for at in places)
    is_long = common >= _LEAST_LEFT
    sides = (
        _Side(first, left[0], [*anchors], is_last[1] and is_long),
        _Side(second, left[1], [*anchors.values()], is_last[0] and is_long),
    )
    differences = [*_differences(*sides)]
    there = [places[at] for at in sorted(places)]
    if there != sorted(there) and not _keeps_clauses(first, second, places):
        differences.append(("order", one.text, other.text))
    return Match(
        common,
        tuple(differences),
        (tuple(sides[0].omitted), tuple(sides[1].omitted)),
        (tuple(sides[0].dates), tuple(sides[1].dates)),
    )


def _joined(one: NoteStatement, other: NoteStatement) -> NoteStatement:
    """The statement with two words joined where a single word of the other means the same: "make sure", "back-off"."""
    mine, theirs = {token.key for token in one.tokens}, {token.key for token in other.tokens}
    lone = [token.key for token in other.tokens if token.is_open and token.key not in mine]
    if not lone or mine <= theirs:
        return one
    tokens: list[Token] = []
    for token in one.tokens:
        last = tokens[-1] if tokens else None
        if last and last.is_open and not token.starts and token.key not in theirs:
            text = f"{last.text} {token.text}"
            compound = text.replace(" ", "").lower()
            phrases = [f"{base}_{token.text.lower()}" for base in bases(last.key)]
            if any(compound in bases(key) for key in lone):
                tokens[-1] = last._replace(text=text, key=compound)
                continue
            if any(are_alike(phrase, key) for phrase in phrases for key in lone):
                tokens[-1] = last._replace(text=text, key=phrases[0])
                continue
        tokens.append(token)
    return one if len(tokens) == len(one.tokens) else replace(one, tokens=tuple(tokens))


def _anchors(one: Sequence[str], other: Sequence[str]) -> dict[int, int]:
    """The positions of words that come in the same order in both texts."""
    if one == other:
        return {at: at for at in range(len(one))}
    blocks = SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    return {a + at: b + at for a, b, size in blocks for at in range(size)}


def _moved(one: Sequence[str], other: Sequence[str], anchors: dict[int, int]) -> dict[int, int]:
    """The positions of words that are elsewhere in the other text."""
    taken = {*anchors.values()}
    free: dict[str, Places] = {}
    for b in reversed(range(len(other))):
        if b not in taken:
            free.setdefault(other[b], []).append(b)
    return {a: free[key].pop() for a, key in enumerate(one) if a not in anchors and free.get(key)}


def _replaced(
    one: NoteStatement, other: NoteStatement, anchors: dict[int, int], places: dict[int, int]
) -> dict[int, int]:
    """The positions of synonyms between the same neighbours: a word may be replaced in one place and kept elsewhere."""
    taken = {*places.values()}
    left = [at for at in range(len(other.tokens)) if at not in taken]
    ends = sorted(anchors.values())
    gaps = sorted(anchors)
    found: dict[int, int] = {}
    for a in (at for at in range(len(one.tokens)) if left and at not in places):
        gap = bisect(gaps, a)
        for b in left:
            if bisect(ends, b) == gap and are_same(one.tokens[a], other.tokens[b]):
                found[a] = b
                left.remove(b)
                break
    return found


def _keeps_clauses(one: NoteStatement, other: NoteStatement, places: dict[int, int]) -> bool:
    """Whether each clause of one text is whole and in order in the other, even if the clauses are reordered."""
    back = {b: a for a, b in places.items()}
    return _are_whole(one, other, places) or _are_whole(other, one, back)


def _are_whole(one: NoteStatement, other: NoteStatement, places: dict[int, int]) -> bool:
    clause_of = {at: number for number, clause in enumerate(other.clauses) for at in clause}
    for clause in one.clauses:
        there = [places[at] for at in clause if at in places and not one.tokens[at].is_weak]
        if there != sorted(there) or len({clause_of[at] for at in there}) > 1:
            return False
    return True


class _Side:
    """A statement, with the positions of words that the other lacks and of words that both have in the same order."""

    def __init__(self, statement: NoteStatement, left: Places, anchors: Places, is_cut: bool) -> None:
        self.statement = statement
        self.omitted: list[NoteStatement] = []
        self._left = {*left}
        self._is_cut = is_cut
        tokens = statement.tokens
        self.dates = [tokens[at] for at in left if tokens[at].kind == DATE]
        stamps = {
            at
            for clause in statement.clauses
            if self._is_lacking(clause) and statement.is_stamp(clause)
            for at in clause
        }
        self.gaps: dict[int, Places] = {}
        anchors = sorted(anchors)
        for at in left:
            if at not in stamps and tokens[at].kind != DATE:
                self.gaps.setdefault(bisect(anchors, at), []).append(at)

    def strong(self, gap: int) -> Places:
        return [at for at in self.gaps.get(gap, ()) if not self.statement.tokens[at].is_weak]

    def tokens(self, gap: int) -> list[Token]:
        return [self.statement.tokens[at] for at in self.gaps.get(gap, ())]

    def omits(self, gap: int) -> bool:
        """Whether the other text lacks these words because it omits whole clauses or the end of the sentence."""
        places = self.gaps[gap]
        whole = [
            clause for clause in self.statement.clauses if self._is_lacking(clause) and len(clause) >= _LEAST_CLAUSE
        ]
        inside = {at for clause in whole for at in clause}
        is_tail = self._is_cut and {*range(places[0], len(self.statement.tokens))} <= self._left
        if not ({*self.strong(gap)} <= inside or is_tail) or self.statement.changes_sense(places):
            return False
        self.omitted.append(self.statement.only(places))
        return True

    def _is_lacking(self, clause: range) -> bool:
        return all(at in self._left or self.statement.tokens[at].is_weak for at in clause)


def _differences(one: _Side, other: _Side) -> Iterator[tuple[str, str, str]]:
    for gap in sorted({*one.gaps, *other.gaps}):
        first, second = one.tokens(gap), other.tokens(gap)
        if first and second:
            kind = kind_of([token for token in (*first, *second) if not token.is_weak] or [*first, *second])
            yield kind, texts(first), texts(second)
        elif one.strong(gap) and not one.omits(gap):
            yield kind_of([token for token in first if not token.is_weak]), texts(first), ""
        elif other.strong(gap) and not other.omits(gap):
            yield kind_of([token for token in second if not token.is_weak]), "", texts(second)
