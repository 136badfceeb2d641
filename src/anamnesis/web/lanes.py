"""Where routes run, so that no kind of work delays another.

The event loop, threads for reads, pools for waiting calls, and the one writer.
"""

from __future__ import annotations

import asyncio
import functools
import queue
import sqlite3
import threading
from asyncio import Future
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from concurrent.futures import Future as ThreadFuture
from enum import Enum, auto
from typing import Any, TypeVar

from anamnesis.engram import database
from anamnesis.engram.shared import Shared
from anamnesis.errors import AnamnesisError, StoreUnavailable
from anamnesis.process import lower_priority
from anamnesis.web.message import Request, Response
from anamnesis.web.writer import AfterWrite, Batch, Failed, Writer

T = TypeVar("T")
# The work of a route with a connection. It does not raise: errors are answers too.
Read = Callable[[sqlite3.Connection], Response]

# The threads for each kind of read: the cores of a small machine.
_THREADS = 2
# Waiting calls use no CPU, so there may be more of them. Each has a timeout of its own.
_WAITING_THREADS = 4
_MOST_QUEUED = 256
# KiB of page cache of each reader's connection; more was not faster.
_CACHE = 2_000


class Lane(Enum):
    """Where a route runs."""

    # On the event loop: lookups by key, and constants.
    LOOP = auto()
    # Threads of their own, so that a list never waits for a search.
    LIST = auto()
    SEARCH = auto()
    # Pools for calls that wait for local git commands, or for a network or a model: these can take minutes.
    GIT = auto()
    NETWORK = auto()
    # The one thread that writes.
    WRITE = auto()
    # An async function on the event loop, which uses other lanes.
    TASK = auto()


class Lanes:
    """The connections and threads of a daemon. A connection is opened when it is first used."""

    def __init__(
        self, shared: Shared, after_write: AfterWrite | None = None, flush: Callable[[], None] | None = None
    ) -> None:
        self._shared = shared
        self._opened: list[sqlite3.Connection] = []
        self._of_thread = threading.local()
        self._pools: dict[Lane, Executor] = {
            Lane.LIST: ThreadPoolExecutor(_THREADS, "list"),
            # Two searching threads could occupy a small machine.
            Lane.SEARCH: ThreadPoolExecutor(_THREADS, "search", initializer=lower_priority),
            Lane.GIT: WaitingPool(_WAITING_THREADS, "git"),
            Lane.NETWORK: WaitingPool(_WAITING_THREADS, "network"),
        }
        self.writer = Writer(shared, after_write, flush)

    @property
    def has_engram(self) -> bool:
        """Whether there is an engram.db."""
        return self._shared.is_open

    def read(self, lane: Lane, read: Read, failed: Failed) -> Future[Response]:
        """Run a read in a thread of its lane; if there is no connection, `failed` makes the answer."""
        return asyncio.get_running_loop().run_in_executor(self._pools[lane], self._with_connection, read, failed)

    def write(self, batch: Batch, request: Request, failed: Failed) -> Future[Response]:
        """Change engram.db; the answer comes after the commit, or `failed` makes it."""
        return self.writer.submit(batch, request, failed)

    def call(self, lane: Lane, work: Callable[[], T]) -> Future[T]:
        """Run a function that opens the memory itself, in the writer's thread or in one of the lane."""
        if lane is Lane.WRITE:
            return self.writer.call(work)
        return asyncio.get_running_loop().run_in_executor(self._pools[lane], work)

    def start(self, lane: Lane, work: Callable[[], object]) -> None:
        """Run a function in a thread of a pool without waiting for it; it handles its errors itself."""
        self._pools[lane].submit(work)

    def close(self) -> None:
        """Finish the reads and writes that were accepted, and close the connections. Waiting calls are abandoned."""
        self.writer.close()
        for pool in self._pools.values():
            pool.shutdown()
        for db in self._opened:
            db.close()

    def connection(self) -> sqlite3.Connection:
        """The connection of the calling thread."""
        db: sqlite3.Connection | None = getattr(self._of_thread, "db", None)
        if db is None:
            db = self._of_thread.db = database.connect(self._shared.path, check_same_thread=False)
            db.execute(f"PRAGMA cache_size = -{_CACHE}")
            self._opened.append(db)
        return db

    def _with_connection(self, read: Read, failed: Failed) -> Response:
        try:
            db = self.connection()
        except AnamnesisError as error:
            return failed(error)
        return read(db)


class WaitingPool(Executor):
    """Daemon threads for calls that may wait long, so that a hanging call does not keep the process alive."""

    def __init__(self, threads: int, name: str) -> None:
        self._queue: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._threads_left = threads
        self._name = name

    def submit(self, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> ThreadFuture[T]:
        if self._queue.qsize() >= _MOST_QUEUED:
            raise StoreUnavailable(
                f"Too many calls are waiting for {self._name}.", "Try again when one of them has ended."
            )
        future: ThreadFuture[T] = ThreadFuture()
        self._queue.put(functools.partial(_fulfil, future, functools.partial(function, *args, **kwargs)))
        if self._threads_left:
            self._threads_left -= 1
            threading.Thread(target=self._run, name=self._name, daemon=True).start()
        return future

    def _run(self) -> None:
        while True:
            self._queue.get()()


def _fulfil(future: ThreadFuture[T], work: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(work())
    except Exception as error:  # the boundary of the thread: the caller gets it
        future.set_exception(error)
