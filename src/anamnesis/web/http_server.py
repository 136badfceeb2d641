"""The listening socket and its connections: how many there are, how much they hold, until the daemon is to stop."""

from __future__ import annotations

import asyncio
import socket
import time

from anamnesis.web.connection import App, Connection, Phase
from anamnesis.web.limits import Limits

_BACKLOG = 1024
# Connections that the event loop accepts before it does anything else. Until they are counted they are above the limit
# of connections, so there must be descriptors in reserve for some times as many.
_ACCEPTED_AT_ONCE = 8
_PENDING_SECONDS = 0.05


class HttpServer:
    """Serves an application within the limits."""

    app: App

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.is_stopping = False
        self.connections: set[Connection] = set()
        self.held = 0
        self._is_sweeping = False
        self._listener: asyncio.Server | None = None

    async def listen(self, listening: socket.socket, app: App) -> None:
        """Take connections from a socket that is bound already."""
        self.app = app
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(lambda: Connection(self), sock=listening, backlog=_ACCEPTED_AT_ONCE)
        # To asyncio the backlog is both; the kernel's queue is to stay long.
        listening.listen(_BACKLOG)

    async def stop(self, seconds: float) -> bool:
        """Answer what has come, then end; whether everything was answered in that time."""
        self.is_stopping = True
        # Connections and requests that the kernel already has are taken before the door is shut.
        await asyncio.sleep(_PENDING_SECONDS)
        if self._listener:
            self._listener.close()
        for connection in list(self.connections):
            connection.end_if_idle()
        deadline = time.monotonic() + seconds
        while self.connections and time.monotonic() < deadline:
            await asyncio.sleep(0.01)
        is_complete = not any(connection.phase is Phase.WORK for connection in self.connections)
        for connection in list(self.connections):
            connection.abort()
        return is_complete

    def take(self, new: Connection) -> bool:
        """Count a connection in, in the place of one that does nothing if there are too many; whether it could be."""
        if len(self.connections) >= self.limits.connections:
            oldest = min(self.connections, key=Connection.importance)
            if oldest.importance()[0] > Phase.HEAD:
                return False
            self.connections.discard(oldest)
            oldest.abort()
        self.connections.add(new)
        if not self._is_sweeping:
            self._is_sweeping = True
            asyncio.get_running_loop().call_later(self.limits.sweep, self._sweep)
        return True

    def hold(self, change: int) -> None:
        """Count bytes of unanswered requests; where they are too many, the client that sends most is refused."""
        self.held += change
        while change > 0 and self.held > self.limits.held:
            sending = [each for each in self.connections if each.phase in (Phase.HEAD, Phase.BODY) and each.held]
            if not sending:
                return
            max(sending, key=lambda each: each.held).refuse_for_memory()

    def _sweep(self) -> None:
        """Look for clients that take too long: one timer for all, none per request or packet."""
        now = time.monotonic()
        for connection in list(self.connections):
            connection.check(now)
        self._is_sweeping = bool(self.connections)
        if self._is_sweeping:
            asyncio.get_running_loop().call_later(self.limits.sweep, self._sweep)
