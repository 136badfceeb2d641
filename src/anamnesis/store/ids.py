"""New ids, each later than the one before, and the time of a change, both from the clock."""

from __future__ import annotations

import os
import threading
import time
from datetime import UTC, datetime

from anamnesis.notes import ulid


def utcnow() -> str:
    """The current time in the format of notes."""
    return datetime.now(UTC).isoformat(timespec="seconds")


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
