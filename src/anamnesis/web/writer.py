"""The one writing thread of a daemon, for all surfaces: HTTP's changes in batches, and MCP's calls."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import queue
import sqlite3
import threading
import time
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from anamnesis.engram import database
from anamnesis.engram.shared import Shared
from anamnesis.web.message import Request, Response

T = TypeVar("T")
# Makes the changes of consecutive requests, and returns an answer for each. It does not raise: errors are answers.
Batch = Callable[[Sequence[Request], sqlite3.Connection], Sequence[Response]]
Failed = Callable[[Exception], Response]
AfterWrite = Callable[[Callable[[], None]], None]

# The most changes of a transaction, as its first client waits for its last.
_MOST_GATHERED = 256
# Changes after which a background thread checkpoints the WAL, and the pages of the WAL at which the writer does so
# itself because that thread has fallen behind; SQLite's default is a thousand pages. The WAL file keeps its size while
# the daemon runs: truncating it and letting it grow again cost a quarter of the time of a write.
_CHECKPOINT_AFTER = 250
_MOST_PAGES = 32_000
# Seconds without a request after which the writer flushes: a client often sends its next request right after an answer.
_QUIET_SECONDS = 0.004
# Seconds for which a transaction waits for as many requests as the last one had, whose clients were just answered.
_GATHERING_SECONDS = 0.002


class Writer:
    """Makes all changes in the order of their requests. Requests that arrive during a transaction form the next one.

    `after_write` is called before changes are answered, with a function that it may call to answer them earlier.
    `flush` completes the work that it postponed: before a call, and when no request follows.
    """

    def __init__(self, shared: Shared, after_write: AfterWrite | None, flush: Callable[[], None] | None = None) -> None:
        self.changes = 0
        self.transactions = 0
        self._shared = shared
        self._checkpoints: Checkpoints | None = None
        self._after_write = after_write
        self._flush = flush or (lambda: None)
        # Not a SimpleQueue: its `get` can wait for ever if its thread is suspended for longer than the timeout.
        self._queue: queue.Queue[_QueuedChange | _QueuedCall | None] = queue.Queue()
        self._expected = 1
        self._thread = threading.Thread(target=self._run, name="writer")
        self._thread.start()

    def submit(self, batch: Batch, request: Request, failed: Failed) -> Future[Response]:
        """Queue a change of engram.db, for the next batch."""
        change = _QueuedChange(batch, request, failed, asyncio.get_running_loop())
        self._queue.put(change)
        return change.future

    def call(self, work: Callable[[], T]) -> Future[T]:
        """Call a function that makes its own transactions; its result comes after `after_write`."""
        call = _QueuedCall(work, asyncio.get_running_loop())
        self._queue.put(call)
        return call.future

    def close(self) -> None:
        """Make the queued changes, then stop."""
        self._queue.put(None)
        self._thread.join()
        if self._checkpoints:
            self._checkpoints.close()

    def _run(self) -> None:
        while gathered := self._gather():
            self._count(len(gathered))
            changes: list[_QueuedChange] = []
            for each in gathered:
                if isinstance(each, _QueuedCall):
                    self._commit(changes)
                    changes = []
                    self._flush()
                    each.make()
                else:
                    changes.append(each)
            self._commit(changes)
            answer = partial(_answer, gathered)
            if self._after_write:
                self._after_write(answer)
            answer()
        self._flush()

    def _gather(self) -> list[_QueuedChange | _QueuedCall]:
        """Wait for the next batch; empty if the writer is closing."""
        try:
            waiting = self._queue.get(timeout=_QUIET_SECONDS)
        except queue.Empty:
            self._expected = 1
            self._flush()
            waiting = self._queue.get()
        gathered: list[_QueuedChange | _QueuedCall] = []
        deadline = time.monotonic() + _GATHERING_SECONDS
        with contextlib.suppress(queue.Empty):
            while waiting:
                gathered.append(waiting)
                if len(gathered) == _MOST_GATHERED:
                    break
                is_expecting = len(gathered) < self._expected
                waiting = self._queue.get(timeout=max(0.0, deadline - time.monotonic()) if is_expecting else 0.0)
        if waiting is None:
            self._queue.put(None)
        self._expected = len(gathered)
        return gathered

    def _count(self, changes: int) -> None:
        is_due = self.changes // _CHECKPOINT_AFTER != (self.changes + changes) // _CHECKPOINT_AFTER
        if is_due and self._checkpoints:
            self._checkpoints.due.set()
        self.changes += changes

    def _commit(self, changes: list[_QueuedChange]) -> None:
        if not changes:
            return
        self.transactions += 1
        try:
            with self._shared.lock:
                if self._checkpoints is None:
                    self._checkpoints = _start_checkpoints(self._shared.db, self._shared.path)
                if len(changes) == 1:
                    _make(changes, self._shared.db)
                else:
                    # Each change is a savepoint of its own, so that one that fails does not undo the others.
                    with database.writing(self._shared.db):
                        _make(changes, self._shared.db)
        except Exception as error:  # the outermost boundary of the thread: every request needs an answer
            for each in changes:
                each.response = each.failed(error)


class Checkpoints:
    """A thread that checkpoints the WAL when it is due, so that no writer waits for it."""

    def __init__(self, path: Path) -> None:
        self.due = threading.Event()
        self._is_closing = False
        self._db = database.connect(path, check_same_thread=False)
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
            with contextlib.suppress(sqlite3.OperationalError):  # a full disk: the next write reports it
                self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()


def _start_checkpoints(db: sqlite3.Connection, path: Path) -> Checkpoints:
    """Checkpoint in a background thread instead of after writes of this connection."""
    db.execute(f"PRAGMA wal_autocheckpoint = {_MOST_PAGES}")
    db.execute("PRAGMA journal_size_limit = -1")
    return Checkpoints(path)


class _QueuedChange:
    """A request for a change of engram.db, and the future of its answer."""

    __slots__ = ("batch", "failed", "future", "loop", "request", "response")

    def __init__(self, batch: Batch, request: Request, failed: Failed, loop: AbstractEventLoop) -> None:
        self.batch = batch
        self.request = request
        self.failed = failed
        self.loop = loop
        self.future: Future[Response] = loop.create_future()
        self.response = Response(500)

    def deliver(self) -> None:
        self.future.set_result(self.response)


class _QueuedCall:
    """A function that writes by itself, and the future of its result."""

    __slots__ = ("_error", "_result", "_work", "future", "loop")

    def __init__(self, work: Callable[[], Any], loop: AbstractEventLoop) -> None:
        self._work = work
        self._result: Any = None
        self._error: Exception | None = None
        self.loop = loop
        self.future: Future[Any] = loop.create_future()

    def make(self) -> None:
        try:
            self._result = self._work()
        except Exception as error:  # the outermost boundary of the thread: the caller gets it
            self._error = error

    def deliver(self) -> None:
        if self._error:
            self.future.set_exception(self._error)
        else:
            self.future.set_result(self._result)


def _make(changes: list[_QueuedChange], db: sqlite3.Connection) -> None:
    for batch, group in itertools.groupby(changes, lambda each: each.batch):
        queued = list(group)
        responses = batch([each.request for each in queued], db)
        for each, response in zip(queued, responses, strict=True):
            each.response = response


def _answer(made: list[_QueuedChange | _QueuedCall]) -> None:
    """Deliver the answers in the event loop, once."""
    if made:
        made[0].loop.call_soon_threadsafe(_deliver, [*made])
        made.clear()


def _deliver(made: list[_QueuedChange | _QueuedCall]) -> None:
    for each in made:
        if not each.future.cancelled():
            each.deliver()
