"""How the members share a server: what one of them may take at once of its places and of its memory.

A request waits for its turn before it takes a place that others need. It is all of one event loop.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from weakref import WeakValueDictionary

from anamnesis.hub.refusal import TooMany

# A body up to this needs no room: as many as there are connections take 64 MB.
SMALL_BYTES = 64 * 1024
# The largest body. One member's large ones are read and answered one after the other.
MOST_BODY_BYTES = 10_000_000
# All larger bodies than the small ones, of unanswered requests of all members.
_MOST_BYTES = 128_000_000
# Requests of one member that wait, each on a connection of the server.
_MOST_WAITING = 64
# One member's requests take a third of the places: of few, two, so that one that waits for a lock does not stop all.
_SHARE, _FEWEST = 3, 2


class Sharing:
    """Turns, and room for bodies, by member. `places` is how many requests run at a time.

    A member is the name of a user, or of the address that a request without a valid token comes from.
    """

    def __init__(self, places: int) -> None:
        self._turns_of_one = max(_FEWEST, places // _SHARE)
        self._turns: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._waiting: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()
        self._freed = asyncio.Condition()

    @asynccontextmanager
    async def turn(self, member: str) -> AsyncIterator[None]:
        """Wait until fewer than a few requests of the member run."""
        turns = self._turns.get(member)
        if turns is None:
            turns = self._turns[member] = asyncio.Semaphore(self._turns_of_one)
        with self._queued(member):
            await turns.acquire()
        try:
            yield
        finally:
            turns.release()

    @asynccontextmanager
    async def room(self, member: str, size: int) -> AsyncIterator[None]:
        """Wait until there is room for a body of so many bytes, before any of it is read."""
        if size <= SMALL_BYTES:
            yield
            return
        with self._queued(member):
            async with self._freed:
                await self._freed.wait_for(lambda: self._fits(member, size))
                self._bytes[member] += size
        try:
            yield
        finally:
            self._bytes[member] -= size
            self._bytes += Counter()  # forgets those that are zero
            async with self._freed:
                self._freed.notify_all()

    def _fits(self, member: str, size: int) -> bool:
        return self._bytes.total() + size <= _MOST_BYTES and self._bytes[member] + size <= MOST_BODY_BYTES

    @contextmanager
    def _queued(self, member: str) -> Iterator[None]:
        if self._waiting[member] >= _MOST_WAITING:
            raise TooMany("Too many of your requests wait for an answer.", "Try again in a moment.")
        self._waiting[member] += 1
        try:
            yield
        finally:
            self._waiting[member] -= 1
            self._waiting += Counter()  # forgets those that are zero
