"""Background reads for a screen: one at a time in a thread, and of several waiting ones only the newest."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from typing import Generic, TypeVar

from textual.message_pump import MessagePump
from textual.widget import Widget

from anamnesis.errors import AnamnesisError

T = TypeVar("T")
# What a read or a change of the memory may raise; the application shows it and continues.
FAILURES = (AnamnesisError, sqlite3.Error, OSError)


class Latest(Generic[T]):
    """The reads of one part of a screen. A result is shown unless a newer read was requested."""

    def __init__(self, owner: Widget) -> None:
        self._owner = owner
        self._waiting: tuple[Callable[[], T], Callable[[T], object]] | None = None
        self._is_running = False

    def ask(self, read: Callable[[], T], show: Callable[[T], object]) -> None:
        """Call `read` in a thread, then `show` with its result."""
        self._waiting = (read, show)
        if not self._is_running:
            self._is_running = True
            self._owner.run_worker(self._run())

    async def _run(self) -> None:
        try:
            while self._waiting:
                read, show = self._waiting
                self._waiting = None
                try:
                    found = await asyncio.to_thread(read)
                except FAILURES as error:
                    notify_error(self._owner, error)
                    continue
                if self._waiting is None and self._owner.is_attached:
                    show(found)
        finally:
            self._is_running = False


def notify_error(owner: MessagePump, error: Exception) -> None:
    """Show an error. The message may quote a note, so it is not markup."""
    from anamnesis.plain import plain

    owner.app.notify(plain(str(error)), severity="error", markup=False)
