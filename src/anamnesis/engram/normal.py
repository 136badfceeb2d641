"""The form in which Engram stores texts: private parts removed, cut to size, hashed. Pure."""

from __future__ import annotations

import hashlib
import re

from anamnesis.engram.strings import byte_length, cut, fields, to_lower, trim_space, valid

MOST_BYTES = 50_000
_OPENING = re.compile("<private>", re.ASCII | re.IGNORECASE)
_CLOSING = re.compile("</private>", re.ASCII | re.IGNORECASE)


def without_private(text: str) -> str:
    """The text without the content of <private> tags and without surrounding blanks."""
    text = valid(text)
    kept, start = [], 0
    # One pattern for both tags would search for the closing tag again after each unclosed opening one.
    while (opening := _OPENING.search(text, start)) and (closing := _CLOSING.search(text, opening.end())):
        kept += [text[start : opening.start()], "[REDACTED]"]
        start = closing.end()
    return trim_space("".join((*kept, text[start:])))


def to_size(text: str) -> str:
    """The text cut to the limit of a row, between two characters."""
    return text if byte_length(text) <= MOST_BYTES else cut(text, MOST_BYTES) + "... [truncated]"


def scope(text: str) -> str:
    """`personal`, or `project` for anything else."""
    return "personal" if trim_space(to_lower(text)) == "personal" else "project"


def content_hash(content: str) -> str:
    """A hash that ignores blanks and case."""
    return hashlib.sha256(to_lower(" ".join(fields(content))).encode("utf-8", "surrogateescape")).hexdigest()
