"""A version of a note as text for people to compare, without identity, times and counters. Pure."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from typing import Any

from anamnesis.notes import Memory
from anamnesis.notes.frontmatter import write_front
from anamnesis.notes.record import KEYS, without_ticking

# Identity and times: they change without a change of content.
_OF_THE_NOTE = ("id", "created_at", "updated_at")
# Pairs of equal lines that are compared: this many in reversed texts take half a second.
_MOST_PAIRS = 100_000


def text_of(note: Memory | None) -> str:
    """The text of a version; "" if the note was deleted. Line ends make no difference."""
    if note is None:
        return ""
    meta = {name: value for name, value in _fields(note).items() if value not in ("", [], {})}
    body = note.body.replace("\r\n", "\n")
    return f"---\n{write_front(meta, note.extra)}---\n{body}"


def diff(before: str, after: str, names: tuple[str, str] = ("before", "after")) -> str:
    """The unified diff of two versions."""
    lines = _compared(_lines(before), _lines(after), names, 3)
    return "".join(f"{line}\n" for line in lines)


def differing(before: str, after: str) -> str:
    """Only the lines that differ, without those around them."""
    lines = [*_compared(_lines(before), _lines(after), ("", ""), 0)][2:]
    return "".join(f"{line}\n" for line in lines if not line.startswith("@@"))


def beside(before: str, after: str) -> list[tuple[str | None, str | None, bool]]:
    """Both versions line by line, side by side: None where one has no line, and whether the two lines are the same."""
    old, new = _lines(before), _lines(after)
    if _repeats(old, new):
        return [*((line, None, False) for line in old), *((None, line, False) for line in new)]
    rows: list[tuple[str | None, str | None, bool]] = []
    for kind, start, end, other, last in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        pairs = zip_longest(old[start:end], new[other:last])
        rows += [(one, two, kind == "equal") for one, two in pairs]
    return rows


def summary(before: Memory | None, after: Memory | None) -> str:
    """The changes between two versions: the fields, and the numbers of added and removed lines."""
    if after is None:
        return "deleted"
    if before is None:
        return "written"
    old, new = _flat(before), _flat(after)
    changed = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    if before.extra != after.extra:
        changed.append("front matter")
    came, went = count_lines(before.body.replace("\r\n", "\n"), after.body.replace("\r\n", "\n"))
    if came or went:
        changed.append(f"body +{came} -{went}")
    return ", ".join(changed)


def count_lines(before: str, after: str) -> tuple[int, int]:
    """The numbers of added and removed lines."""
    if before == after:
        return 0, 0
    marks = [line[:1] for line in _compared(_lines(before), _lines(after), ("", ""), 0)][2:]
    return marks.count("+"), marks.count("-")


def _compared(old: Sequence[str], new: Sequence[str], names: tuple[str, str], context: int) -> Iterable[str]:
    """The lines of a unified diff; with too many repeated lines, everything was replaced."""
    # difflib ignores lines that make up more than a hundredth of a long text.
    if not _repeats(old, new, len(new) // 100 + 1 if len(new) >= 200 else len(new)):
        return difflib.unified_diff(old, new, *names, n=context, lineterm="")
    head = (f"--- {names[0]}", f"+++ {names[1]}", f"@@ -1,{len(old)} +1,{len(new)} @@")
    return chain(head, (f"-{line}" for line in old), (f"+{line}" for line in new))


def _repeats(old: Sequence[str], new: Sequence[str], popular: int = _MOST_PAIRS) -> bool:
    """Whether the texts have too many pairs of equal lines to compare, without those that are too `popular`."""
    counts = Counter(new)
    return sum(count for line in old if (count := counts[line]) <= popular) > _MOST_PAIRS


def _fields(note: Memory) -> dict[str, Any]:
    steady = replace(note, engram=without_ticking(note.engram))
    return {name: getattr(steady, name) for name in KEYS if name not in _OF_THE_NOTE}


def _flat(note: Memory) -> dict[str, Any]:
    fields = _fields(note)
    return fields | {f"engram {name}": value for name, value in fields.pop("engram").items()}


def _lines(text: str) -> Sequence[str]:
    return text.split("\n") if text else []
