"""New ids, the current time, and the ids of notes that are made from other tools' records."""

from __future__ import annotations

import os
import threading
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from anamnesis.notes import Memory, derived_id, ending_of, ulid
from anamnesis.store import queries
from anamnesis.store.tombstones import purged_ids

if TYPE_CHECKING:
    from anamnesis.store.store import MemoryStore


def utcnow() -> str:
    """The current time in the format of notes."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def changed_at(*versions: Memory) -> str:
    """The time of a change of these versions: now, but never before their own times.

    After the clock was set back, an edit would else count as older than what it replaces, and lose a merge.
    """
    times = (time for each in versions for time in (each.created_at, each.updated_at))
    return max([utcnow(), *(time for time in times if time.endswith("+00:00"))])  # other texts are no times


class UlidMaker:
    """Makes ULIDs, for any number of threads."""

    def __init__(self) -> None:
        self._last = (0, 0)
        self._lock = threading.Lock()

    def next(self) -> str:
        with self._lock:
            milliseconds, randomness = time.time_ns() // 1_000_000, int.from_bytes(os.urandom(10)) >> 1
            if milliseconds <= self._last[0]:
                milliseconds, randomness = self._last[0], self._last[1] + 1
            self._last = (milliseconds, randomness)
        return ulid(milliseconds, randomness)


def id_of_record(store: MemoryStore, name: str, moment: str) -> str:
    """The id of the note for a record: that of its existing note, even a deleted or purged one, else a new id.

    A new id begins with the record's time. Its ending depends on the name alone, so the note is found again if the
    record's time changes.
    """
    new = derived_id(moment, name)
    live = store._catalogue.ask(lambda db: queries.ids_ending(db, ending_of(new)))
    deleted = (each.id for each in store.trashed())
    return next((id for id in (*live, *deleted, *purged_ids(store.root)) if ending_of(id) == ending_of(new)), new)
