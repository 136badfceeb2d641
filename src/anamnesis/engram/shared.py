"""A connection to engram.db that threads share, so that all use one page cache."""

from __future__ import annotations

import threading
from pathlib import Path

from anamnesis.engram.database import connect


class Shared:
    """One connection for one thread at a time: hold the `lock` to use `db`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.db = connect(path, check_same_thread=False)
        self.lock = threading.RLock()

    def close(self) -> None:
        with self.lock:
            self.db.close()
