"""Which spaces change, as it happens: one connection listens for all clients of this process.

It reconnects by itself. A notification may be lost, and the cursor is the truth: after each reconnection every client
reads the sequences again.
"""

from __future__ import annotations

import asyncio
import logging
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Self

from anamnesis.hub.database import listening
from anamnesis.hub.refusal import TooMany, Unavailable

_log = logging.getLogger("anamnesis.hub")
CHANNEL = "anamnesis_changes"
# Of all members together, and of one.
_MOST_CLIENTS, _MOST_OF_ONE = 500, 25
_RETRY_SECONDS = 1.0
# Seconds between checks whether to stop.
_PATIENCE = 0.25

# A space's number and its last version; None says that changes may have been missed.
Change = tuple[int, int] | None


class Subscription:
    """The pending notifications of one client of a member: the last version of each space that changed."""

    def __init__(self, loop: asyncio.AbstractEventLoop, member: str) -> None:
        self._loop = loop
        self.member = member
        self._changed: dict[int, int] = {}
        self._woken = asyncio.Event()
        self.missed = False
        self.ended = False

    def tell(self, change: Change) -> None:
        """Add a notification, from any thread. Pending ones of one space are merged."""
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._take, change)

    def end(self) -> None:
        self.ended = True
        self.tell(None)

    def _take(self, change: Change) -> None:
        if change is None:
            self.missed = True
        else:
            space, seq = change
            self._changed[space] = max(seq, self._changed.get(space, 0))
        self._woken.set()

    async def changes(self, timeout: float) -> dict[int, int] | None:
        """The changes since the last call, after at most `timeout` seconds; None if some may have been missed."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), timeout)
        self._woken.clear()
        changed, self._changed = self._changed, {}
        if self.missed:
            self.missed = False
            return None
        return changed


class Live:
    """The clients of this process that follow changes. The thread that listens starts with the first of them."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._clients: set[Subscription] = set()
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        if self._thread:
            self._thread.join()

    def end(self) -> None:
        """End every stream, and the thread."""
        self._stopping.set()
        self._each(Subscription.end)

    def check(self, member: str) -> None:
        """Refuse another client of the member, if there are too many."""
        with self._lock:
            own = sum(client.member == member for client in self._clients)
            if own >= _MOST_OF_ONE or len(self._clients) >= _MOST_CLIENTS:
                whose = "of your clients" if own >= _MOST_OF_ONE else "clients"
                raise TooMany(f"Too many {whose} follow changes.", "Ask for changes by cursor instead.", 60)

    @contextmanager
    def following(self, member: str) -> Iterator[Subscription]:
        """Call it on the event loop that the subscription is for."""
        self.check(member)
        client = Subscription(asyncio.get_running_loop(), member)
        with self._lock:
            self._clients.add(client)
            if self._thread is None and not self._stopping.is_set():
                self._thread = threading.Thread(target=self._listen, name="live", daemon=True)
                self._thread.start()
        try:
            yield client
        finally:
            with self._lock:
                self._clients.discard(client)

    def _listen(self) -> None:
        while not self._stopping.is_set():
            try:
                with listening(self._url, CHANNEL) as db:
                    self._each(lambda client: client.tell(None))
                    while not self._stopping.is_set():
                        if select.select([db.fileno()], [], [], _PATIENCE)[0]:
                            for notice in db.notifies(timeout=0, stop_after=1000):
                                self._notify(notice.payload)
            except Unavailable as error:
                _log.warning("Live changes are interrupted: %s", error)
                self._stopping.wait(_RETRY_SECONDS)

    def _notify(self, payload: str) -> None:
        space, _, seq = payload.partition(" ")
        if space.isdecimal() and seq.isdecimal():
            self._each(lambda client: client.tell((int(space), int(seq))))

    def _each(self, do: Callable[[Subscription], None]) -> None:
        with self._lock:
            clients = [*self._clients]
        for client in clients:
            do(client)
