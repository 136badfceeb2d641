"""The background work of the dashboard: a sync that the user started, and slow checks."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from anamnesis.doctor import examine
from anamnesis.doctor.agents import examine_agents
from anamnesis.errors import AnamnesisError
from anamnesis.sync import configured_backend
from anamnesis.web.lanes import Lane, Lanes

if TYPE_CHECKING:
    from anamnesis.config import Settings
    from anamnesis.vault import Vault

T = TypeVar("T")


class Clock:
    """Counts the changes that pages show besides notes: steps of a sync, and results of checks."""

    def __init__(self) -> None:
        self.ticks = 0

    def tick(self) -> None:
        self.ticks += 1


class Check(Generic[T]):
    """A slow check, with its last result."""

    def __init__(self, work: Callable[[], T], clock: Clock) -> None:
        self.known: T | None = None
        self._work = work
        self._clock = clock
        self._ended = -float("inf")
        self._running = threading.Lock()

    def result(self, seconds: float) -> T:
        """The last result, or a new one if it is older than `seconds`. Concurrent callers share the new one."""
        with self._running:
            if self.known is None or time.monotonic() - self._ended > seconds:
                before, self.known = self.known, self._work()
                self._ended = time.monotonic()
                if self.known != before:
                    self._clock.tick()
            return self.known

    def renew(self, lanes: Lanes, seconds: float) -> None:
        """Check again in the background if the last result is older; the clock announces a change to pages."""
        if not self._running.locked() and time.monotonic() - self._ended > seconds:
            lanes.start(Lane.GIT, lambda: self.result(seconds))


class Syncing:
    """The sync that the user started here: its current step, and its outcome."""

    def __init__(self, clock: Clock) -> None:
        self.step = ""
        self.outcome: dict[str, object] | None = None
        self._clock = clock
        self._running = threading.Lock()

    def start(self, vault: Vault, settings: Settings, lanes: Lanes) -> None:
        """Sync in the background, unless a sync is running."""
        if not self._running.acquire(blocking=False):
            return
        try:
            self._announce("Starting")
            lanes.start(Lane.NETWORK, lambda: self._sync(vault, settings))
        except AnamnesisError:
            self._end()
            raise

    def _sync(self, vault: Vault, settings: Settings) -> None:
        self.outcome = None
        try:
            # The failure is recorded, and the page shows it.
            with contextlib.suppress(AnamnesisError, sqlite3.Error, OSError):
                backend = configured_backend(vault.notes, settings, announce=self._announce)
                self.outcome = vault.sync(backend, settings, announce=self._announce).report(vault.notes)
        finally:
            self._end()

    def _end(self) -> None:
        self._announce("")
        self._running.release()

    def _announce(self, step: str) -> None:
        self.step = step
        self._clock.tick()


class Background:
    """The sync and the checks of a dashboard, and the clock that they advance."""

    def __init__(self, settings: Settings) -> None:
        self.clock = Clock()
        self.syncing = Syncing(self.clock)
        self.memory = Check(partial(examine, settings), self.clock)
        self.glance = Check(partial(examine, settings, quickly=True), self.clock)
        self.agents = Check(partial(examine_agents, settings), self.clock)
