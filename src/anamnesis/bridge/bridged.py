"""A store whose notes are observations too: whatever is written to it is there for Engram when the call returns."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anamnesis.bridge.bridge import Bridge
from anamnesis.errors import AnamnesisError
from anamnesis.log import log
from anamnesis.store import MemoryStore


class BridgedStore(MemoryStore):
    """Notes in step with the observations of an engram.db, as far as that is possible at the moment."""

    def __init__(self, root: Path | str, path: Path, machine_id: str) -> None:
        super().__init__(root)
        try:
            self.bridge = Bridge(self, path, machine_id)
        except BaseException:
            super().close()
            raise
        self.on_look = self.on_change = self._catch_up

    def close(self) -> None:
        self.on_look = self.on_change = None
        self.bridge.close()
        super().close()

    def catch_up(self, **which: int) -> bool:
        """Take over what changed on either side, as `Bridge.follow` does; what goes wrong waits for the next time."""
        try:
            return self.bridge.follow(**which)
        except (AnamnesisError, sqlite3.Error) as error:
            log(self.root, "bridge failed", reason=str(error))
            return True

    def _catch_up(self) -> None:
        self.catch_up()

    @contextmanager
    def around(self, db: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
        """A use of engram.db: it sees what the notes say, and they what it left."""
        self.catch_up()
        mark = self.bridge.last_change()
        try:
            yield db
        finally:
            self.catch_up(since=mark)
