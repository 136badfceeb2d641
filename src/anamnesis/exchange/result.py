"""The result of an exchange, for every surface."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from anamnesis.sync.names import KINDS, Travelled

_MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class HubResult:
    """The result of one exchange with a hub."""

    url: str
    user: str
    received: Travelled
    sent: Travelled
    conflicted: bool
    waiting: int  # how many notes could not be exchanged
    detail: str
    reached: bool = True
    hint: str = ""
    decided: tuple[str, ...] = ()  # as in SyncResult
    invitations: int = 0  # how many wait for an answer
    news: tuple[str, ...] = ()  # what other members did to notes, and no sync whose result is read has said


def travelled(changes: list[tuple[str, str]]) -> Travelled:
    """Count changes by kind, and keep the first titles; a conflict counts as a change."""
    counts = Counter("changed" if kind not in KINDS else kind for kind, _ in changes)
    return Travelled(counts, changes[:_MOST_NAMED], only_notes=True)


NOTHING = travelled([])


def report_hub(result: HubResult) -> dict[str, Any]:
    """The result as JSON, the same on every surface."""
    return {
        "url": result.url,
        "user": result.user,
        "received": result.received.total,
        "sent": result.sent.total,
        "conflicted": result.conflicted,
        "decided": list(result.decided),
        "waiting": result.waiting,
        "invitations": result.invitations,
        "news": list(result.news),
        "detail": result.detail,
    }
