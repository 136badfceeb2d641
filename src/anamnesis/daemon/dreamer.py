"""A thread that starts dreams while the daemon is idle, each in a process of its own, so that no request waits."""

from __future__ import annotations

import contextlib
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from anamnesis.bridge import FAILURES
from anamnesis.dream.dream_database import DreamDatabase
from anamnesis.errors import LockHeld
from anamnesis.process import start
from anamnesis.sync.worktree import without_sync

if TYPE_CHECKING:
    from anamnesis.store import MemoryStore
    from anamnesis.web.metrics import Metrics

FOLLOWER = "dream"


@dataclass(frozen=True, slots=True)
class Times:
    """When to dream, in seconds."""

    look: float = 15.0  # between two checks
    idle: float = 60.0  # without work before a dream
    pause: float = 30 * 60.0  # between two dreams
    longest: float = 4 * 3600.0  # after which a single change makes a dream due
    grace: float = 0.5  # from terminating a dream to killing it
    many: int = 10  # changes that make a dream due


class Dreamer:
    """Starts `anamnesis dream` when it is due, and stops it when a request arrives. Killing it loses nothing.

    Work is a request that `metrics` counts and, before a dream, also any change of a note.
    """

    def __init__(
        self, store: MemoryStore, metrics: Metrics, log: Callable[..., None], times: Times | None = None
    ) -> None:
        self._store = store
        self._metrics = metrics
        self._log = log
        self._times = times or Times()
        self._worked = self._work()
        self._busy_at = time.monotonic()
        self._tried_at = float("-inf")
        self._process: subprocess.Popen[bytes] | None = None
        self._fault = ""
        self._is_closing = False
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dream")
        self._thread.start()

    def close(self) -> None:
        self._is_closing = True
        self._wake.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._is_closing:
            if is_called := self._wake.wait(self._times.look):  # after a timeout, a late call stays set
                self._wake.clear()
            try:
                self._look(is_called)
            except FAILURES as error:
                self._log_fault(str(error))

    def _look(self, is_called: bool) -> None:
        if self._process:
            if self._process.poll() is None and not is_called:
                return
            self._end(self._process)
        now = time.monotonic()
        if is_called or (work := self._work()) != self._worked:
            self._busy_at = now
            self._worked = self._work() if is_called else work
        if self._is_closing or now - self._busy_at < self._times.idle or now - self._tried_at < self._times.pause:
            return
        reason = due(self._store, self._times)
        if reason and not _is_syncing(self._store):
            self._tried_at = now
            self._begin(reason)

    def _begin(self, reason: str) -> None:
        pipe = subprocess.PIPE  # the process exits when this pipe closes, so it does not outlive this one
        self._process = start("dream", f"--trigger={reason}", stdin=pipe, stderr=pipe)
        self._metrics.on_work = self._wake.set
        if self._work()[0] != self._worked[0]:  # a request has come in between
            self._wake.set()

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Stop a dream that still runs, and undo its incomplete change."""
        from anamnesis.store import changeset

        self._metrics.on_work = None
        self._process = None
        is_stopped = process.poll() is None
        with process:  # closes its pipes
            if is_stopped:
                process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(self._times.grace)
                process.kill()
            stderr = process.communicate()[1].decode("utf-8", "replace").strip()
        if not is_stopped:
            last_line = stderr.rpartition("\n")[2] or "The process ended unexpectedly."
            self._log_fault(last_line if process.returncode else "")
        if changeset.is_pending(self._store):
            changeset.recover(self._store)

    def _log_fault(self, reason: str) -> None:
        """Log a failure, once while it stays the same; "" clears it."""
        if reason and reason != self._fault:
            self._log("cannot dream", reason=reason)
        self._fault = reason

    def _work(self) -> tuple[int, int]:
        """Counters of requests and of changed notes."""
        return self._metrics.requests, self._store.log.last()


def due(store: MemoryStore, times: Times) -> str:
    """Why a dream is due; "" if none is."""
    with contextlib.closing(DreamDatabase(store.root)) as database:
        last = database.state("last")
    since = time.time() - datetime.fromisoformat(last).timestamp() if last else float("inf")
    if 0 <= since < times.pause:  # a clock that was set back must not stop dreams for long
        return ""
    pending = store.log.pending(FOLLOWER, limit=times.many)
    if pending is None:
        return "the first" if store.count() else ""
    ids = [change.note_id for change in pending.changes]
    if len(ids) >= times.many:
        return f"{times.many} new notes"
    if any(note.prov_source == "session-end" for note in store.live(ids)):
        return "a session ended"
    return "four hours have passed" if ids and not 0 <= since <= times.longest else ""


def _is_syncing(store: MemoryStore) -> bool:
    try:
        with without_sync(store.memory_dir):
            return False
    except LockHeld:
        return True
