"""The removed and the added lines in the patches that git prints. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from anamnesis.dream.declarations import Line
from anamnesis.light import lazy_pattern

_HUNK = lazy_pattern(r"@@ -\d++(?:,(\d++))? \+\d++(?:,(\d++))? @@")
# The character before a commit's id, as `--format=%x01%H` prints it.
_MARK = "\x01"


class ChangedLine(NamedTuple):
    """A removed or an added line, and the commit that changed it; "" in a diff without commits."""

    commit: str
    line: Line
    is_removed: bool


def read_patches(text: str) -> Iterator[ChangedLine]:
    """The changed lines in git's output. Each has the line before it in the same version of the file."""
    commit = file = ""
    before = ["", ""]  # in the old version, in the new one
    left = [0, 0]  # lines of the hunk that are still to come, of each version
    for text_line in text.split("\n"):
        if any(left):
            mark, line = text_line[:1], text_line[1:]
            sides = {"-": (0,), "+": (1,), "\\": ()}.get(mark, (0, 1))
            if len(sides) == 1:
                yield ChangedLine(commit, Line(file, before[sides[0]], line), sides == (0,))
            for side in sides:
                before[side] = line
                left[side] -= 1
        elif text_line.startswith(_MARK):
            commit = text_line[1:]
        elif text_line.startswith(("--- a/", "+++ b/")):
            file = text_line[6:].rstrip("\t")
        elif hunk := _HUNK.match(text_line):
            left = [int(count or 1) if count != "0" else 0 for count in hunk.groups()]
            before = ["", ""]
