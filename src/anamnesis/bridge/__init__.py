"""Notes and observations as one memory: the store that entry points open, with its twin where there is an engram.db.

Whoever has no Engram pays for a look at a file name.
"""

from __future__ import annotations

import sqlite3
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from anamnesis.config import Settings
from anamnesis.errors import AnamnesisError, InvalidArgument
from anamnesis.log import log
from anamnesis.store import MemoryStore

if TYPE_CHECKING:
    from anamnesis.bridge.bridged import BridgedStore
    from anamnesis.engram.shared import Shared

# What can be wrong with the other side: that it cannot be read, written or said now. It is logged, and no obstacle.
FAILURES = (AnamnesisError, OSError, sqlite3.Error, TypeError, ValueError)
# What an opening takes over by itself; beyond, a process of its own does it while others work.
_AT_ONCE = 200


def find_engram(settings: Settings) -> Path | None:
    """Where engram.db is, if there is one and the bridge is on."""
    try:
        path = settings.engram_db()
    except InvalidArgument:
        return None
    return path if path.exists() and settings.bridge else None


def open_memory(settings: Settings, *, only_to_read: bool = False) -> MemoryStore:
    """The store, in step with engram.db if there is one; what this cannot be now is logged, and is no obstacle.

    A store that is opened `only_to_read` writes nothing but its index: observations that no note says yet stay for the
    daemon, the next write or `anamnesis bridge reconcile`.
    """
    if only_to_read:
        return MemoryStore(settings.home, only_to_read=True)
    store = open_bridged(settings, find_engram(settings))
    if (bridged := as_bridged(store)) and not bridged.catch_up(most=_AT_ONCE):
        from anamnesis.background import run_in_background

        run_in_background("bridge", "reconcile")
    return store


def open_bridged(settings: Settings, engram: Path | Shared | None) -> MemoryStore:
    """The store, with an engram.db of which nothing has been taken over yet."""
    if engram is None:
        return MemoryStore(settings.home)
    from anamnesis.bridge.bridged import BridgedStore

    try:
        return BridgedStore(settings.home, engram, settings.machine_id, settings.user_home)
    except FAILURES as error:
        log(settings.home, "bridge failed", reason=str(error))
        return MemoryStore(settings.home)


def as_bridged(store: MemoryStore) -> BridgedStore | None:
    """The store, if it is in step with an engram.db."""
    if type(store) is MemoryStore:
        return None
    from anamnesis.bridge.bridged import BridgedStore  # 50 ms that nobody without Engram has to spend

    return store if isinstance(store, BridgedStore) else None


def around(store: MemoryStore, db: sqlite3.Connection) -> AbstractContextManager[sqlite3.Connection]:
    """A use of engram.db: it sees what the notes of the store say, and they what it leaves, if the two are in step."""
    bridged = as_bridged(store)
    return bridged.around(db) if bridged else nullcontext(db)
