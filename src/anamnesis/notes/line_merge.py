"""Three-way merge of texts by lines. Pure; the sides are symmetric except for whose lines win a conflict."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from difflib import SequenceMatcher
from operator import itemgetter
from typing import NamedTuple

# Comparing repeated lines takes cubic time (0.7 s at this limit); beyond it, they count as replaced.
_MOST_COMPARISONS = 100_000
# The same limit for a whole text: pairs of equal lines between anchors that are compared.
_MOST_PAIRS = 100_000
# The lines around two versions of the same lines.
MINE, _BETWEEN, THEIRS = "<<<<<<< your text", "=======", ">>>>>>> the note as saved meanwhile"


class _Edit(NamedTuple):
    """Replaces lines `start` to `end` of the base by `lines`."""

    start: int
    end: int
    side: int
    lines: Sequence[str]


def merge_lines(base: str | None, yielding: str, prevailing: str) -> tuple[str, bool]:
    """Both sides' changes of a text, and whether they conflict; in a conflict, `prevailing` wins."""
    if yielding in (base, prevailing):
        return prevailing, False
    if prevailing == base:
        return yielding, False
    if base is None:
        return prevailing, True
    parts = [*_parts(base.split("\n"), yielding, prevailing)]
    conflict = any(old != new for old, new in parts)
    return "\n".join(line for _, lines in parts for line in lines), conflict


def merge_marked(base: str, mine: str, theirs: str) -> str:
    """Both sides' changes of a text, for a person: where they conflict, the lines of both, between marks."""
    merged: list[str] = []
    for ours, others in _parts(base.split("\n"), mine, theirs):
        if ours == others:
            merged += ours
            continue
        head = _common(ours, others)
        tail = _common(ours[head:][::-1], others[head:][::-1])
        ends = len(ours) - tail, len(others) - tail
        merged += [*ours[:head], MINE, *ours[head : ends[0]], _BETWEEN, *others[head : ends[1]], THEIRS]
        merged += ours[ends[0] :]
    return "\n".join(merged)


def has_marks(text: str) -> bool:
    """Whether a text has a mark of two versions, in which no person has decided yet."""
    return not {MINE, THEIRS}.isdisjoint(line.rstrip() for line in text.split("\n"))


def _parts(base: Sequence[str], one: str, two: str) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """The merged text in order, as each side has it: the same lines twice, except where the sides conflict."""
    position = 0
    for group in _groups(sorted([*_edits(base, one, 0), *_edits(base, two, 1)])):
        start, end = group[0].start, max(edit.end for edit in group)
        yield base[position:start], base[position:start]
        sides = {edit.side for edit in group}
        results = [_applied(base, start, end, [edit for edit in group if edit.side == side]) for side in sorted(sides)]
        yield results[0], results[-1]
        position = end
    yield base[position:], base[position:]


def _edits(base: Sequence[str], text: str, side: int) -> Iterator[_Edit]:
    """The edits from the base to `text`, in order."""
    lines = text.split("\n")
    start = first = 0
    left = _MOST_PAIRS
    for end, last in [*_anchors(base, lines), (len(base), len(lines))]:
        left -= yield from _compared(base[start:end], lines[first:last], start, side, left)
        start, first = end + 1, last + 1


def _anchors(base: Sequence[str], lines: Sequence[str]) -> list[tuple[int, int]]:
    """The positions of lines that are unique in both texts: the longest run in the same order in both."""
    places = {line: place for place, line in enumerate(lines)}
    repeated = {line for text in (base, lines) for line, count in Counter(text).items() if count > 1}
    pairs = [(place, places[line]) for place, line in enumerate(base) if line in places and line not in repeated]
    runs: list[tuple[int, int]] = []  # the last pairs of the longest runs, by length
    before: dict[tuple[int, int], tuple[int, int] | None] = {}
    for pair in pairs:
        length = bisect_left(runs, pair[1], key=itemgetter(1))
        before[pair] = runs[length - 1] if length else None
        runs[length : length + 1] = [pair]
    found = []
    last = runs[-1] if runs else None
    while last:
        found.append(last)
        last = before[last]
    return found[::-1]


def _compared(
    base: Sequence[str], lines: Sequence[str], offset: int, side: int, most: int
) -> Generator[_Edit, None, int]:
    """The edits between two ranges of lines, the base's starting at `offset`; returns the pairs compared."""
    head = _common(base, lines)
    tail = _common(base[head:][::-1], lines[head:][::-1])
    old, new = base[head : len(base) - tail], lines[head : len(lines) - tail]
    offset += head
    counts = Counter(new)
    pairs = sum(counts[line] for line in old)
    if len(old) * len(new) > _MOST_COMPARISONS or pairs > most:
        yield _Edit(offset, offset + len(old), side, new)
        return 0
    for kind, start, end, first, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            yield _Edit(offset + start, offset + end, side, new[first:last])
    return pairs


def _common(one: Sequence[str], two: Sequence[str]) -> int:
    """The number of common lines at the start."""
    count = 0
    for left, right in zip(one, two, strict=False):
        if left != right:
            break
        count += 1
    return count


def _groups(edits: Sequence[_Edit]) -> Iterator[list[_Edit]]:
    """Edits that change the same lines, or insert at the same place, as one group; the others alone."""
    group: list[_Edit] = []
    end = 0
    for edit in edits:
        same_place = group and edit.start == edit.end == end == group[0].start
        if group and not same_place and not edit.start < end:
            yield group
            group, end = [], 0
        group.append(edit)
        end = max(end, edit.end)
    if group:
        yield group


def _applied(lines: Sequence[str], start: int, end: int, edits: Sequence[_Edit]) -> list[str]:
    """The lines `start` to `end` of the base after one side's edits."""
    result: list[str] = []
    for edit in edits:
        result += [*lines[start : edit.start], *edit.lines]
        start = edit.end
    return [*result, *lines[start:end]]
