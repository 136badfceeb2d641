"""A connection to engram.db that threads share, so that all use one page cache."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from anamnesis.engram.database import connect, prepare

# Milliseconds that background work yields to requests.
_MOST_LET_PASS = 50


class Shared:
    """One connection for one thread at a time: hold the `lock` to use `db`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db: sqlite3.Connection | None = None
        self.lock = threading.RLock()
        self._hurried: deque[bool] = deque()

    @property
    def is_open(self) -> bool:
        return self._db is not None

    @property
    def db(self) -> sqlite3.Connection:
        """The connection. The first use opens it, and creates engram.db if there is none."""
        if self._db is None:
            with self.lock:
                if self._db is None:
                    prepare(self.path)
                    self._db = connect(self.path, check_same_thread=False)
        return self._db

    def close(self) -> None:
        with self.lock:
            if self._db:
                self._db.close()

    @contextlib.contextmanager
    def hurrying(self) -> Iterator[sqlite3.Connection]:
        """The connection for a request: background work yields to it."""
        self._hurried.append(True)
        try:
            with self.lock:
                yield self.db
        finally:
            self._hurried.pop()

    def let_pass(self) -> None:
        """Yield to waiting requests. A thread that takes the lock again at once would starve them."""
        for _ in range(_MOST_LET_PASS):
            if not self._hurried:
                return
            time.sleep(0.001)
