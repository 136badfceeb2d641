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

from anamnesis.engram import database
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
# After so many changes a thread for which no writer waits brings the log of the database home. Only where it does not
# keep up, after so many pages, a writer does that itself: as it would do after every thousand pages without the thread.
# The file of the log keeps the size it has grown to while the daemon runs: to cut it and let it grow again cost a
# quarter of the time of a write.
_CHECKPOINT_AFTER = 250
_MOST_PAGES = 32_000


class Access:
    """The connections of a daemon, opened in the thread that runs the loop. `here` is that thread's own.

    Changes are answered when `follow` has returned that was called after their commit.
    """

    def __init__(self, path: Path, follow: Callable[[], None] | None = None) -> None:
        self._path = path
        self.here = _connect(path)
        self._opened: list[sqlite3.Connection] = []
        self._of_thread = threading.local()
        self._lists = ThreadPoolExecutor(_THREADS, "list")
        self._searches = ThreadPoolExecutor(_THREADS, "search", initializer=_step_back)
        self.writer = Writer(path, follow)

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
    """One thread that makes all changes, in the order in which they were asked for.

    Where something has to follow the changes before they are answered, a second thread does it while the first goes on.
    """

    def __init__(self, path: Path, follow: Callable[[], None] | None) -> None:
        self.changes = 0
        self.transactions = 0
        self._db = database.connect(path, check_same_thread=False)
        self._db.execute(f"PRAGMA wal_autocheckpoint = {_MOST_PAGES}")
        self._db.execute("PRAGMA journal_size_limit = -1")
        self._checkpoints = Checkpoints(path)
        self._follow = follow
        self._commits = _Stage("writer", self._commit)
        self._answers = _Stage("follower", self._answer) if follow else None

    def submit(self, change: Change, request: Request, failed: Failed) -> Future[Response]:
        waiting = _Waiting(change, request, failed, asyncio.get_running_loop())
        self._commits.queue.put([waiting])
        return waiting.future

    def close(self) -> None:
        """Make the changes that are waiting, then end."""
        self._commits.close()
        if self._answers:
            self._answers.close()
        self._checkpoints.close()
        self._db.close()

    def _commit(self, gathered: list[_Waiting]) -> None:
        if self.changes // _CHECKPOINT_AFTER != (self.changes + len(gathered)) // _CHECKPOINT_AFTER:
            self._checkpoints.due.set()
        self.changes += len(gathered)
        self.transactions += 1
        try:
            if len(gathered) == 1:
                self._make(gathered)
            else:
                # Each change is a savepoint of its own, so that one that fails does not take the others with it.
                with database.writing(self._db):
                    self._make(gathered)
        except Exception as error:  # the outermost boundary of the thread: whoever waits has to be told
            for each in gathered:
                each.response = each.failed(error)
        # While nobody waits to write, this thread has nothing better to do than what follows.
        if self._answers and not self._commits.queue.empty():
            self._answers.queue.put(gathered)
        else:
            self._answer(gathered)

    def _answer(self, gathered: list[_Waiting]) -> None:
        if self._follow:
            self._follow()
        gathered[0].loop.call_soon_threadsafe(_deliver, gathered)

    def _make(self, gathered: list[_Waiting]) -> None:
        for change, alike in itertools.groupby(gathered, lambda each: each.change):
            row = list(alike)
            responses = change([each.request for each in row], self._db)
            for each, response in zip(row, responses, strict=True):
                each.response = response


class _Stage:
    """A thread that works on everything that has gathered while it worked on what came before."""

    def __init__(self, name: str, work: Callable[[list[_Waiting]], None]) -> None:
        self.queue: queue.SimpleQueue[list[_Waiting] | None] = queue.SimpleQueue()
        self._work = work
        self._thread = threading.Thread(target=self._run, name=name)
        self._thread.start()

    def close(self) -> None:
        """Do what is waiting, then end."""
        self.queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        more = True
        while more:
            first = self.queue.get()
            gathered = first or []
            more = first is not None
            while more and len(gathered) < _MOST_GATHERED and not self.queue.empty():
                next = self.queue.get()
                gathered += next or []
                more = next is not None
            if gathered:
                self._work(gathered)


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


def _deliver(answered: list[_Waiting]) -> None:
    for each in answered:
        if not each.future.cancelled():
            each.future.set_result(each.response)
