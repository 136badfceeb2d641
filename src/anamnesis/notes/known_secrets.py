"""Removes secrets by their value: what a text reveals as a secret is removed from every text beside it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from anamnesis.notes.secret_values import is_secret

# Secrets by their value in lower case, with the marker that replaces each.
Known = Mapping[str, str]

_SHORTEST = 6
# From this length on, not even a value of letters alone is a usual word.
_NO_WORD = 16
# The part of a longer value that is compared: it bounds the work at each word of a text.
_LONGEST = 128
_PUNCTUATION = ".,:;!?*)]}"
_START = re.compile(r"(?<![a-z0-9])\S")
_REST = re.compile(r"[^\s\"'`<>()\[\]{},;]*+")


def known_secrets(removed: Iterable[tuple[str, str]]) -> Known:
    """Those of the removed values that are recognised anywhere, as text may repeat the others by chance.

    Punctuation at the end of one may be that of its sentence, so it is known with and without.
    """
    return {
        _folded(each)[:_LONGEST]: marker
        for value, marker in removed
        for each in (value, value.rstrip(_PUNCTUATION))
        if _is_distinctive(each)
    }


def without_known(text: str, known: Known) -> str:
    """The text without the known secrets, in any letter case, where they stand as words of their own."""
    folded = _folded(text)
    sizes: dict[str, list[int]] = {}
    for value in sorted(known, key=len, reverse=True):
        each = sizes.setdefault(value[:_SHORTEST], [])
        if len(value) not in each[-1:]:
            each.append(len(value))
    kept: list[str] = []
    done = 0
    for place in _START.finditer(folded):
        start = place.start()
        for size in sizes.get(folded[start : start + _SHORTEST], ()) if start >= done else ():
            value = folded[start : start + size]
            if (marker := known.get(value)) and (end := _end(folded, start + len(value), is_cut=size == _LONGEST)):
                kept += (text[done:start], marker)
                done = end
                break
    return "".join([*kept, text[done:]]) if kept else text


def _is_distinctive(value: str) -> bool:
    """Whether a secret is neither a word nor a name that any text may hold."""
    if len(value) < _SHORTEST or "[REDACTED" in value or len(value.split()) != 1:
        return False
    return len(value) >= _NO_WORD or value[-1] in "!@#$%^&*~" or is_secret(value, strong=True, literal=False)


def _end(folded: str, end: int, *, is_cut: bool) -> int:
    """Where a value that ends here, or is only compared up to here, is over; 0 if it is part of another word."""
    if is_cut:
        return _REST.match(folded, end).end()  # type: ignore[union-attr] # it matches any text
    return 0 if folded[end - 1].isalnum() and folded[end : end + 1].isalnum() else end


def _folded(text: str) -> str:
    """The text in lower case, unless that would move its offsets."""
    return lowered if len(lowered := text.lower()) == len(text) else text
