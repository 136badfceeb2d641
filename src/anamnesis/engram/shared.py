"""A connection to engram.db that threads share: what one of them wrote, the next need not read from the disk again."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from anamnesis.engram.database import connect

# Between two uses, who does not hurry waits so many milliseconds for those who do.
_MOST_LET_PASS = 50


class Shared:
    """One connection, for one thread at a time: who uses `db` holds the `lock`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.db = connect(path, check_same_thread=False)
        self.lock = threading.RLock()
        self._hurried: deque[bool] = deque()

    def close(self) -> None:
        with self.lock:
            self.db.close()

    @contextlib.contextmanager
    def hurrying(self) -> Iterator[sqlite3.Connection]:
        """Have the connection as soon as possible, for somebody who waits for an answer."""
        self._hurried.append(True)
        try:
            with self.lock:
                yield self.db
        finally:
            self._hurried.pop()

    def let_pass(self) -> None:
        """Let those go first who hurry; a thread that takes a lock again at once would never let go."""
        for _ in range(_MOST_LET_PASS):
            if not self._hurried:
                return
            time.sleep(0.001)
