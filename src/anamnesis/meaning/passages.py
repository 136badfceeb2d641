"""Splits a note into passages short enough for the model, at the borders of lines. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator

_WORDS = 110
# A rest at the end is added to the last passage if that has then at most this many words.
_MOST_WORDS = 130


def passages(text: str) -> list[str]:
    """Passages of about 110 words; at least one, which is empty if the text is."""
    found: list[str] = []
    lines: list[str] = []
    count = before = 0
    for line in _short_lines(text):
        words = len(line.split())
        if lines and count + words > _WORDS:
            found.append("\n".join(lines))
            lines, count, before = [], 0, count
        if words or lines:
            lines.append(line)
        count += words
    if found and before + count <= _MOST_WORDS:
        found[-1] = "\n".join([found[-1], *lines])
    elif lines or not found:
        found.append("\n".join(lines))
    return found


def _short_lines(text: str) -> Iterator[str]:
    """The lines of a text; a line that is too long for a passage is cut between words, into equal pieces."""
    for line in text.splitlines():
        words = line.split()
        pieces = math.ceil(len(words) / _WORDS)
        if pieces <= 1:
            yield line
        else:
            size = math.ceil(len(words) / pieces)
            for start in range(0, len(words), size):
                yield " ".join(words[start : start + size])
