"""What carries notes between machines: the protocol, and what it reports."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from anamnesis.store.steps import Step

if TYPE_CHECKING:
    from anamnesis.sync.tree import Difference

# Called with the current step of a sync, to show its progress.
Announce = Callable[[str], None]
BOTH_KEPT = "both versions of a note are kept; see `anamnesis conflicts`"


@dataclass(frozen=True, slots=True)
class SyncResult:
    """What one sync did."""

    pushed: bool  # whether the remote moved
    pulled: int  # how many commits of other machines came
    conflicted: bool  # whether two machines had changed the same lines or the title; both versions are kept
    head: str  # the commit the notes are at now, abbreviated
    detail: str
    reached: bool = True  # false if there is a remote and it could not be reached
    changed: tuple[str, ...] = ()  # files that may not be in the index as they are now
    # For the index: the hash of each file that the sync wrote (None if removed), and what that did to the folders.
    written: Mapping[str, bytes | None] = field(default_factory=dict)
    steps: Sequence[Step] = ()
    # For a person: what the sync changed here, and the commits of the remote before and after it was pushed.
    received: Sequence[Difference] = ()
    sent: tuple[str, str] | None = None
    decided: tuple[str, ...] = ()  # a sentence for each field whose value the newer side decided


@dataclass(frozen=True, slots=True)
class SyncState:
    """The state of the repository."""

    initialized: bool
    remote: str | None
    head: str
    dirty: bool  # whether there are changes that no sync has committed yet
    detail: str


class SyncBackend(Protocol):
    """Carries the notes of one folder between machines."""

    def init(self) -> None: ...

    def sync(self, changed: Collection[str] | None = None) -> SyncResult:
        """One sync. Only these files can have changed since the last one; None if that is not known."""

    def state(self) -> SyncState: ...
