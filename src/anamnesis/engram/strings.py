"""Text as Go's `strings` package treats it: white space, lower case, lengths in bytes.

An invalid byte is a lone surrogate here (`surrogateescape`), like one rune per byte in Go.
"""

from __future__ import annotations

import re

# Go's white space. Python's `split` also takes \x1c to \x1f.
SPACE = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
_WORD = re.compile(f"[^{SPACE}]+")
_PYTHON_SPACE = re.compile("[\x1c-\x1f]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def trim_space(text: str) -> str:
    """The text without surrounding white space."""
    return text.strip(SPACE)


def fields(text: str) -> list[str]:
    """The words between white space."""
    return _WORD.findall(text) if _PYTHON_SPACE.search(text) else text.split()


def to_lower(text: str) -> str:
    """The text in lower case, character by character: no final sigma, no second character for a dotted I."""
    if text.isascii():
        return text.lower()
    return valid(text.replace("İ", "i").replace("Σ", "σ").lower())


def valid(text: str) -> str:
    """The text with U+FFFD for each lone surrogate."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def byte_length(text: str) -> int:
    """The length in bytes of UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))


def cut(text: str, limit: int) -> str:
    """The whole characters that fit into `limit` bytes."""
    if byte_length(text) <= limit:
        return text
    return text.encode("utf-8", "surrogateescape")[:limit].decode("utf-8", "ignore")


def shorten(text: str, limit: int) -> str:
    """The first `limit` characters, with three dots if there are more."""
    return text if len(text) <= limit else valid(text[:limit]) + "..."
