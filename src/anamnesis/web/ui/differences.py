"""Shows two versions of a text side by side: equal lines are folded, and differing words are marked."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from markupsafe import Markup, escape

from anamnesis.plain import plain

Row = tuple[str | None, str | None, bool]
# The equal lines that are shown on either side of a change.
_AROUND = 3
# Longer lines are not compared word by word, which takes quadratic time.
_MOST_WORDS = 300
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


def folded(rows: Sequence[Row]) -> Iterator[tuple[Sequence[Row], int]]:
    """The rows in parts: rows to show, or the number of equal ones that are folded."""
    parts = [(same, [*part]) for same, part in groupby(rows, key=lambda row: row[2])]
    for place, (same, part) in enumerate(parts):
        before = _AROUND if place else 0
        after = _AROUND if place + 1 < len(parts) else 0
        hidden = len(part) - before - after
        if not same or hidden < 2:
            yield part, 0
            continue
        yield part[:before], 0
        yield (), hidden
        yield part[len(part) - after :], 0


def marked(one: str | None, other: str | None) -> tuple[Markup, Markup]:
    """Both lines, with differing words marked if the lines have enough words in common."""
    old, new = (_WORDS.findall(plain(line or "")) for line in (one, other))
    compared = difflib.SequenceMatcher(None, old, new, autojunk=False)
    if one is None or other is None or max(len(old), len(new)) > _MOST_WORDS or compared.ratio() < 0.5:
        return Markup(escape("".join(old))), Markup(escape("".join(new)))  # noqa: S704  it was escaped
    changed = compared.get_opcodes()
    left = Markup("").join(_part(old[start:end], kind) for kind, start, end, _, _ in changed)
    return left, Markup("").join(_part(new[start:end], kind) for kind, _, _, start, end in changed)


def _part(words: Sequence[str], kind: str) -> Markup:
    text = "".join(words)
    return Markup("<mark>{}</mark>").format(text) if text and kind != "equal" else escape(text)
