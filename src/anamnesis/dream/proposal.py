"""A proposal: what a phase of a dream would change, and why. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from anamnesis.notes import Memory
from anamnesis.notes.authorship import is_persons

__all__ = ["Proposal", "is_persons"]


@dataclass(frozen=True, slots=True)
class Proposal:
    """The notes that it is about, and `after`: the notes as they are to be, new ones and changed ones.

    `notes` come first to last as the reason names them. What `after` does not hold stays as it is.
    """

    kind: str
    notes: tuple[str, ...]
    reason: str
    confidence: float
    after: tuple[Memory, ...] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The same for the same proposal about the same notes, in every cycle and on every machine."""
        name = "\n".join([self.kind, *sorted(self.notes)])
        return hashlib.blake2b(name.encode(), digest_size=8).hexdigest()
