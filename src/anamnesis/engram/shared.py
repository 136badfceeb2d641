"""A connection to engram.db that threads share, so that all use one page cache."""

from __future__ import annotations

import threading
from pathlib import Path

from anamnesis.engram.database import Connection, connect, prepare


class Shared:
    """One connection for one thread at a time: hold the `lock` to use `db`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db: Connection | None = None
        self.lock = threading.RLock()

    @property
    def is_open(self) -> bool:
        return self._db is not None

    @property
    def db(self) -> Connection:
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
