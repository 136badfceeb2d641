"""What a way of carrying notes between machines has to offer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class SyncResult:
    """What one sync did."""

    pushed: bool  # whether the remote moved
    pulled: int  # how many commits of other machines came
    conflicted: bool  # whether two machines had changed the same lines; both versions are kept
    head: str  # the commit the notes are at now, in short
    detail: str
    reached: bool = True  # false where there is a remote and it could not be asked
    changed: tuple[str, ...] = ()  # files that may not be in the index as they are now


@dataclass(frozen=True, slots=True)
class SyncState:
    """Where the notes stand."""

    initialized: bool
    remote: str | None
    head: str
    dirty: bool  # whether there are changes that no sync has taken up yet
    detail: str


class SyncBackend(Protocol):
    """Carries the notes of one folder between machines."""

    def init(self) -> None: ...

    def sync(self) -> SyncResult: ...

    def state(self) -> SyncState: ...
