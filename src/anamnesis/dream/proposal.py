"""A proposal: the change that a phase of a dream suggests, and why. Pure."""

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
    """The ids of the `notes` that it is about, in the order of the reason, and the new and changed notes, `after`.

    Notes that are not in `after` stay as they are.
    """

    kind: str
    notes: tuple[str, ...]
    reason: str
    confidence: float
    after: tuple[Memory, ...] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """An id that depends only on the kind and the notes: the same in every cycle and on every machine."""
        name = "\n".join([self.kind, *sorted(self.notes)])
        return hashlib.blake2b(name.encode(), digest_size=8).hexdigest()
