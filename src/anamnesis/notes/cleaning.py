"""Redacts the texts that a client sends or takes away, and remembers the kinds of what it removed. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from anamnesis.notes.record import Memory
from anamnesis.notes.redaction import redact, removed_kinds

_PRIVATE_TAG = re.compile("(</?private>)", re.IGNORECASE)


class Cleaning:
    """Cleans the texts of one request to Engram's dialect.

    If `strict`, incoming texts stay as they were sent, and outgoing ones keep what is between <private> tags: Engram
    does the same. Secrets are removed from outgoing texts in any case.
    """

    def __init__(self, *, strict: bool = False) -> None:
        self.strict = strict
        self.kinds: list[str] = []

    def __call__(self, text: str) -> str:
        """The text as it is stored."""
        if self.strict:
            return text
        cleaned = redact(text)
        if cleaned != text:
            self.kinds += [kind for kind in removed_kinds(text, cleaned) if kind not in self.kinds]
        return cleaned

    def outgoing(self, text: str) -> str:
        """The text as an export holds it."""
        if self.strict and "<" in text:
            return "".join(map(redact, _PRIVATE_TAG.split(text)))
        return redact(text)


def redacted_kinds(given: Mapping[str, object], note: Memory) -> list[str]:
    """The kinds of secrets in the fields that a writer gave, which the note does not hold."""
    return removed_kinds("\n".join(map(str, given.values())), "\n".join(str(getattr(note, name)) for name in given))


def warning(kinds: Iterable[str]) -> str:
    """One sentence for the writer; "" if nothing was removed."""
    named = ", ".join(kinds)
    return f"Redacted before it was stored: {named}." if named else ""
