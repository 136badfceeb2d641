"""The result of an exchange, for every surface."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from anamnesis.plural import counted
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
    sent_to: Mapping[str, int] = field(default_factory=dict)  # the number of texts that others read, by space
    has_news: bool = False  # `detail` names invitations or projects that no earlier one has named
    news: tuple[str, ...] = ()  # what other members did to notes, and no sync whose result is read has said
    unsent: int = 0  # how many changed notes an exchange that failed has not sent

    @property
    def fault(self) -> str:
        """Why the exchange failed, what to do, and what was not sent."""
        told = f"{self.detail} {self.hint}".rstrip()
        return f"{told} {not_sent(self.unsent)}" if self.unsent else told


def not_sent(count: int) -> str:
    return f"{counted(count, 'note is', 'notes are')} not sent yet."


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
        **({"sent_to": dict(result.sent_to)} if result.sent_to else {}),
        "conflicted": result.conflicted,
        "decided": list(result.decided),
        "waiting": result.waiting,
        "unsent": result.unsent,
        "invitations": result.invitations,
        "news": list(result.news),
        "detail": result.detail,
    }
