"""Redacts the texts of requests and exports, and collects the kinds of removed secrets. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
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
        self._known: Mapping[str, str] = {}

    def __call__(self, text: str) -> str:
        """The text to store."""
        return self.all([text])[0]

    def all(self, texts: Sequence[str]) -> list[str]:
        """Texts to store that belong together: what one reveals as a secret is removed from all."""
        if self.strict:
            return [*texts]
        cleaned: list[str]
        cleaned, self._known = _engine().redact_knowing(texts)
        for before, after in zip(texts, cleaned, strict=True):
            if after != before:
                self.kinds += [kind for kind in _engine().removed_kinds(before, after) if kind not in self.kinds]
        return cleaned

    def also(self, text: str) -> str:
        """A stored text beside those cleaned last: what they revealed as a secret is removed from it."""
        return str(_engine().without_known(text, self._known)) if self._known else text

    def outgoing(self, texts: Sequence[str]) -> list[str]:
        """Texts to export that belong together."""
        split = [_PRIVATE_TAG.split(text) if self.strict else [text] for text in texts]
        cleaned = iter(_engine().redact_all([part for parts in split for part in parts[::2]]))
        return ["".join(part if number % 2 else next(cleaned) for number, part in enumerate(parts)) for parts in split]


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
