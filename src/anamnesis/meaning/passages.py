"""Splits a note into passages short enough for the model, at the borders of lines. Pure."""

from __future__ import annotations

from collections.abc import Iterator

_WORDS = 110


def passages(text: str) -> list[str]:
    """Passages of about 110 words; at least one, which is empty if the text is."""
    found: list[str] = []
    lines: list[str] = []
    count = 0
    for line in _short_lines(text):
        words = len(line.split())
        if lines and count + words > _WORDS:
            found.append("\n".join(lines))
            lines, count = [], 0
        if words or lines:
            lines.append(line)
        count += words
    if lines or not found:
        found.append("\n".join(lines))
    return found


def _short_lines(text: str) -> Iterator[str]:
    """The lines of a text; a line that is too long for a passage is cut between words."""
    for line in text.splitlines():
        words = line.split()
        if len(words) <= _WORDS:
            yield line
        else:
            for start in range(0, len(words), _WORDS):
                yield " ".join(words[start : start + _WORDS])
