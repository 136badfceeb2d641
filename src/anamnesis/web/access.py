"""How routes reach engram.db: short reads on the event loop, long ones in threads, writes gathered in one thread.

Readers never wait for writers, and no request waits for another one's search. Nobody's write is refused because
somebody else writes: what has gathered while the last transaction ran is committed as the next one.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import queue
import sqlite3
import sys
import threading
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from anamnesis.engram import database
from anamnesis.engram.shared import Shared
from anamnesis.errors import AnamnesisError
from anamnesis.web.message import Request, Response

# What a route does with a connection. It does not raise: what goes wrong is an answer too. What changes something does
# so for all requests that came in a row, and has an answer for each.
Work = Callable[[sqlite3.Connection], Response]
Change = Callable[[Sequence[Request], sqlite3.Connection], Sequence[Response]]
Failed = Callable[[Exception], Response]

# As many as a small machine has cores, for each of the two kinds of reads.
_THREADS = 2
# How far a thread that searches stands back from the others: two of them would leave a small machine nothing.
_NICE = 10
# What a reader may keep in memory, in KiB: more was no faster, and there are five of them.
_CACHE = 6_000
# A transaction that grew without end would let its first writer wait for its last.
_MOST_GATHERED = 256
# When nothing has come for so many seconds, what could wait is done.
_MOMENT = 0.005
# After so many changes a thread for which no writer waits brings the log of the database home. Only where it does not
# keep up, after so many pages, a writer does that itself: as it would do after every thousand pages without the thread.
# The file of the log keeps the size it has grown to while the daemon runs: to cut it and let it grow again cost a
# quarter of the time of a write.
_CHECKPOINT_AFTER = 250
_MOST_PAGES = 32_000


class Follower(Protocol):
    """What has to be done after changes: before they are answered, and when nothing has come for a moment."""

    def keep_up(self) -> None: ...

    def rest(self) -> None: ...


class Access:
    """The connections of a daemon, opened in the thread that runs the loop. `here` is that thread's own."""

    def __init__(self, shared: Shared, follower: Follower | None = None) -> None:
        self._path = shared.path
        self.here = _connect(shared.path)
        self._opened: list[sqlite3.Connection] = []
        self._of_thread = threading.local()
        self._lists = ThreadPoolExecutor(_THREADS, "list")
        self._searches = ThreadPoolExecutor(_THREADS, "search", initializer=_step_back)
        self.writer = Writer(shared, follower)

    def aside(self, work: Work, failed: Failed, *, may_be_long: bool) -> Future[Response]:
        """Do it in a thread; where that has no connection, the answer is what `failed` makes of the reason."""
        threads = self._searches if may_be_long else self._lists
        return asyncio.get_running_loop().run_in_executor(threads, self._with_own, work, failed)

    def write(self, change: Change, request: Request, failed: Failed) -> Future[Response]:
        """Change something; the answer comes once it is committed, or is what `failed` makes of the reason."""
        return self.writer.submit(change, request, failed)

    def close(self) -> None:
        """Finish what was accepted and let go of the file."""
        self.writer.close()
        self._lists.shutdown()
        self._searches.shutdown()
        for db in (*self._opened, self.here):
            db.close()

    def _with_own(self, work: Work, failed: Failed) -> Response:
        try:
            db = self.of_this_thread()
        except AnamnesisError as error:
            return failed(error)
        return work(db)

    def of_this_thread(self) -> sqlite3.Connection:
        """The connection of the calling thread."""
        db: sqlite3.Connection | None = getattr(self._of_thread, "db", None)
        if db is None:
            db = self._of_thread.db = _connect(self._path, check_same_thread=False)
            self._opened.append(db)
        return db


def _step_back() -> None:
    """Let what is short go before the searches of this thread, where the system knows threads one by one."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)


def _connect(path: Path, *, check_same_thread: bool = True) -> sqlite3.Connection:
    db = database.connect(path, check_same_thread=check_same_thread)
    db.execute(f"PRAGMA cache_size = -{_CACHE}")
    return db


class Writer:
    """One thread that makes all changes, in the order in which they were asked for, and then what has to follow them.

    What has gathered while it did so is its next transaction.
    """

    def __init__(self, shared: Shared, follower: Follower | None) -> None:
        self.changes = 0
        self.transactions = 0
        self._shared = shared
        with shared.lock:
            shared.db.execute(f"PRAGMA wal_autocheckpoint = {_MOST_PAGES}")
            shared.db.execute("PRAGMA journal_size_limit = -1")
        self._checkpoints = Checkpoints(shared.path)
        self._follower = follower
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="writer")
        self._thread.start()

    def submit(self, change: Change, request: Request, failed: Failed) -> Future[Response]:
        waiting = _Waiting(change, request, failed, asyncio.get_running_loop())
        self._queue.put(waiting)
        return waiting.future

    def close(self) -> None:
        """Make the changes that are waiting, then end."""
        self._queue.put(None)
        self._thread.join()
        self._checkpoints.close()

    def _run(self) -> None:
        while gathered := self._gather():
            self._commit(gathered)
            if self._follower:
                self._follower.keep_up()
            gathered[0].loop.call_soon_threadsafe(_deliver, gathered)

    def _gather(self) -> list[_Waiting]:
        """What waits to be written, once there is something; nothing if there will be no more."""
        try:
            waiting = self._queue.get(timeout=_MOMENT)
        except queue.Empty:
            if self._follower:
                self._follower.rest()
            waiting = self._queue.get()
        gathered: list[_Waiting] = []
        while waiting:
            gathered.append(waiting)
            if len(gathered) == _MOST_GATHERED or self._queue.empty():
                return gathered
            waiting = self._queue.get()
        self._queue.put(None)
        return gathered

    def _commit(self, gathered: list[_Waiting]) -> None:
        if self.changes // _CHECKPOINT_AFTER != (self.changes + len(gathered)) // _CHECKPOINT_AFTER:
            self._checkpoints.due.set()
        self.changes += len(gathered)
        self.transactions += 1
        try:
            with self._shared.hurrying() as db:
                if len(gathered) == 1:
                    _make(gathered, db)
                else:
                    # Each change is a savepoint of its own, so that one that fails does not take the others with it.
                    with database.writing(db):
                        _make(gathered, db)
        except Exception as error:  # the outermost boundary of the thread: whoever waits has to be told
            for each in gathered:
                each.response = each.failed(error)


class Checkpoints:
    """A thread that writes the log back into the database when it is due."""

    def __init__(self, path: Path) -> None:
        self.due = threading.Event()
        self._is_closing = False
        self._db = _connect(path, check_same_thread=False)
        self._thread = threading.Thread(target=self._run, name="checkpoints")
        self._thread.start()

    def close(self) -> None:
        self._is_closing = True
        self.due.set()
        self._thread.join()
        self._db.close()

    def _run(self) -> None:
        while self.due.wait() and not self._is_closing:
            self.due.clear()
            with contextlib.suppress(sqlite3.OperationalError):  # a full disk: a writer will meet it, and say so
                self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()


class _Waiting:
    """A request for a change, and who waits for its answer."""

    __slots__ = ("change", "failed", "future", "loop", "request", "response")

    def __init__(self, change: Change, request: Request, failed: Failed, loop: AbstractEventLoop) -> None:
        self.change = change
        self.request = request
        self.failed = failed
        self.loop = loop
        self.future: Future[Response] = loop.create_future()
        self.response = Response(500)


def _make(gathered: list[_Waiting], db: sqlite3.Connection) -> None:
    for change, alike in itertools.groupby(gathered, lambda each: each.change):
        row = list(alike)
        responses = change([each.request for each in row], db)
        for each, response in zip(row, responses, strict=True):
            each.response = response


def _deliver(answered: list[_Waiting]) -> None:
    for each in answered:
        if not each.future.cancelled():
            each.future.set_result(each.response)
