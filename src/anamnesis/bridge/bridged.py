"""A store whose notes are observations too: whatever is written to it is there for Engram when the call returns."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from anamnesis.bridge import FAILURES
from anamnesis.bridge.bridge import BATCH, Bridge, Progress
from anamnesis.engram.shared import Shared
from anamnesis.log import log
from anamnesis.store import MemoryStore
from anamnesis.store.change_log import Written

T = TypeVar("T")


class BridgedStore(MemoryStore):
    """Notes in step with the observations of an engram.db.

    Nobody's call fails because the other side cannot be written now: that is logged, and stays noted down.
    """

    def __init__(self, root: Path | str, engram: Path | Shared, machine_id: str, user_home: Path | None = None) -> None:
        super().__init__(root)
        try:
            self.bridge = Bridge(self, engram, machine_id, user_home)
            self._mark, self._written = self.bridge.last_change(), self.bridge.written()
        except BaseException:
            super().close()
            raise
        self.on_look = self._follow
        self.on_change = self._follow

    def close(self) -> None:
        self.on_look = None
        self.on_change = None
        self.bridge.close()
        super().close()

    def catch_up(self, most: int) -> bool:
        """Take over so many changes of either side at the most, the last ones; False if there are more."""
        return self._safely(lambda: self.bridge.follow(most=most), default=True)

    def keep_up(self) -> bool:
        """Take over what was written to engram.db since the last time; `rest` does what can wait of it.

        That is everything that came by our own connection, but little more: False if others left more than that.
        """
        most = max(BATCH, self.bridge.written() - self._written)
        self._mark, is_all = self._safely(
            lambda: self.bridge.follow_rows(self._mark, most=most, hastily=True), default=(self._mark, True)
        )
        self._written = self.bridge.written()
        return is_all

    def rest(self) -> None:
        """Do what could wait while somebody waited for an answer."""
        self._safely(self.bridge.finish, default=None)
        self._written = self.bridge.written()

    def reconcile(self, progress: Progress | None = None, stop: Callable[[], bool] = bool) -> int:
        """Take over everything; how many changes there were."""
        return self._safely(lambda: self.bridge.reconcile(progress, stop), default=0)

    @contextmanager
    def around(self, db: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
        """A use of engram.db: it sees what the notes say, and they what it leaves."""
        self._follow()
        mark = self.bridge.last_change()
        try:
            yield db
        finally:
            self._safely(lambda: self.bridge.follow_rows(mark), default=(mark, True))

    def _follow(self, written: Written | None = None) -> None:
        self._safely(lambda: self.bridge.follow(written=written), default=True)

    def _safely(self, work: Callable[[], T], default: T) -> T:
        try:
            return work()
        except FAILURES as error:
            log(self.root, "bridge failed", reason=str(error))
            return default
