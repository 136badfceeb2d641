"""Hidden and dangerous characters: those that control a terminal, reorder a line or hide words.

Defined once, for people (`plain`), for models (`bare_lines`, `one_line`) and in JSON (`escaped`). Pure and linear.
"""

from __future__ import annotations

import re
from functools import cache

_ASCII = "\x00-\x08\x0b-\x1f\x7f"
# Controls (except tab and line feed), format characters, lone surrogates, line and paragraph separators, variation
# selectors, tag characters, and fillers and joiners without a glyph.
_HIDDEN = (
    f"{_ASCII}\x80-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_LINE_ENDS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_JOINERS = "\u200c\u200d"
_SELECTORS = "\ufe0e\ufe0f"
# The ASCII and Latin-1 characters that begin an emoji.
_BASES = "0123456789#*\xa9\xae"


def plain(text: str) -> str:
    """A text for people, on a terminal or in a pipe: lines, tabs, letters and emoji stay."""
    return _hidden(text.isascii()).sub(_shown, text)


def bare_lines(text: str) -> list[str]:
    """The lines of a text for a model: every Unicode line end splits, and nothing is hidden."""
    hidden = _hidden(text.isascii())
    return [hidden.sub(_replacement, line) for line in text.splitlines()]


def one_line(text: str, longest: int) -> str:
    """A text as one line of at most `longest` characters without hidden ones."""
    # Only a prefix is read: the text may be a megabyte of spaces.
    line = " ".join(" ".join(bare_lines(text[: 8 * longest])).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def escaped(json: str) -> str:
    r"""The same JSON with hidden characters as \u escapes: nothing is lost."""
    return _hidden(json.isascii()).sub(_escape, json)


@cache
def _hidden(is_ascii: bool) -> re.Pattern[str]:
    """The pattern of hidden characters. The full one takes 1.2 ms to compile, which ASCII texts do not need."""
    return re.compile(f"[{_ASCII if is_ascii else _HIDDEN}]")


def _replacement(match: re.Match[str]) -> str:
    """U+FFFD for a lone surrogate, which stands for bytes that were not text; else nothing."""
    return "\ufffd" if "\ud800" <= match.group() <= "\udfff" else ""


def _shown(match: re.Match[str]) -> str:
    """The replacement for people. The carriage return of a line end, and joiners in emoji or words, stay."""
    text, start, end = match.string, match.start(), match.end()
    character, before, after = match.group(), text[start - 1 : start], text[end : end + 1]
    if character in _LINE_ENDS:  # a space separates the words without starting or overwriting a line
        return character if character + after == "\r\n" else " "
    if character in _SELECTORS and (_is_sign(before) or (before and before in _BASES)):
        return character
    if character in _JOINERS and _is_sign(after):
        before = text[max(0, start - 2) : start].removesuffix("\ufe0f")[-1:]
        return character if _is_sign(before) else ""
    return _replacement(match)


def _is_sign(character: str) -> bool:
    """Whether this is one visible character beyond Latin-1."""
    return character > "\xff" and not _hidden(False).match(character)


def _escape(match: re.Match[str]) -> str:
    if _shown(match) == match.group():
        return match.group()
    units = match.group().encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))
