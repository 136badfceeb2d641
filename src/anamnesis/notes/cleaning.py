"""Redacts the texts of requests and exports, and collects the kinds of removed secrets. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from types import ModuleType

from anamnesis.notes.record import Memory

_PRIVATE_TAG = re.compile("(</?private>)", re.IGNORECASE)


class Cleaning:
    """Cleans the texts of one request to Engram's dialect.

    If `strict`, incoming texts are not changed, and outgoing ones keep the content of <private> tags, as in Engram.
    Secrets are always removed from outgoing texts.
    """

    def __init__(self, *, strict: bool = False) -> None:
        self.strict = strict
        self.kinds: list[str] = []

    def __call__(self, text: str) -> str:
        """The text to store."""
        if self.strict:
            return text
        cleaned: str = _engine().redact(text)
        if cleaned != text:
            self.kinds += [kind for kind in _engine().removed_kinds(text, cleaned) if kind not in self.kinds]
        return cleaned

    def outgoing(self, text: str) -> str:
        """The text to export."""
        redact = _engine().redact
        parts = _PRIVATE_TAG.split(text) if self.strict else [text]
        return "".join(part if number % 2 else redact(part) for number, part in enumerate(parts))


def redacted_kinds(given: Mapping[str, object], note: Memory) -> list[str]:
    """The kinds of secrets in the given fields that the note does not contain."""
    before, after = given.values(), (getattr(note, name) for name in given)
    kinds: list[str] = _engine().removed_kinds("\n".join(map(str, before)), "\n".join(map(str, after)))
    return kinds


def warning(kinds: Iterable[str]) -> str:
    """One sentence for the writer; "" if nothing was removed."""
    named = ", ".join(kinds)
    return f"Redacted before it was stored: {named}." if named else ""


@cache
def _engine() -> ModuleType:
    from anamnesis.notes import redaction  # 7 ms that a server saves until its first write

    return redaction
