"""The listening socket and its connections, within limits of number, memory and time, until the daemon stops."""

from __future__ import annotations

import asyncio
import socket
import time
from asyncio import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from anamnesis.web.connection import HttpConnection, Phase

if TYPE_CHECKING:
    from anamnesis.web.message import Request, Response
    from anamnesis.web.mount import Mount
    from anamnesis.web.route import Route

_BACKLOG = 1024
# Connections that the event loop accepts at once. They exceed the limit of connections until they are counted, so
# descriptors must be reserved for several times as many.
_ACCEPTED_AT_ONCE = 8
_PENDING_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Times in seconds, sizes in bytes. Times are checked once per `sweep`, and only while there are connections.

    A request that is being answered and an answer that is being read are never cut.
    """

    # From the first byte of a head, or from the start of the connection, to the head's end.
    head: float = 10.0
    # Between two bytes of a body, and for the whole body.
    body: float = 30.0
    whole_body: float = 600.0
    # Between requests.
    idle: float = 60.0
    # While the client reads nothing of an answer.
    unread: float = 60.0
    # For the client of a refused request to read its answer, while the rest of the request is discarded.
    linger: float = 2.0
    sweep: float = 1.0
    # Bytes of all requests that are not answered yet.
    held: int = 128 << 20
    connections: int = 1024


class ServerApp(Protocol):
    """The application that answers requests."""

    def admit(self, request: Request) -> Route | Mount | Response:
        """The route of a request whose body has not arrived yet, or a mounted application, or a refusal."""

    def respond(self, request: Request, route: Route) -> Response | Future[Response]:
        """The answer, or a future of it. Most answers are available at once and need no task."""

    def refuse_body(self, request: Request, route: Route) -> Response:
        """The answer to a body that is too long for the route."""

    def count(self, request: Request, path: str, status: int, seconds: float) -> None:
        """Count an answer of a mounted application."""


class HttpServer:
    """Serves an application within the limits."""

    app: ServerApp

    def __init__(self, limits: ConnectionLimits | None = None) -> None:
        self.limits = limits or ConnectionLimits()
        self.is_stopping = False
        self.connections: set[HttpConnection] = set()
        self.held = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_sweeping = False
        self._listener: asyncio.Server | None = None

    async def listen(self, listening: socket.socket, app: ServerApp) -> None:
        """Accept connections from a bound socket."""
        self.app = app
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(
            lambda: HttpConnection(self), sock=listening, backlog=_ACCEPTED_AT_ONCE
        )
        # asyncio uses one number for both; the kernel's queue should be long.
        listening.listen(_BACKLOG)

    async def stop(self, seconds: float) -> bool:
        """Answer the requests that have arrived, then stop; returns whether all were answered in time.

        Streams of mounted applications are cut at once.
        """
        self.is_stopping = True
        # Connections and requests that the kernel already holds are accepted before the listener is closed.
        await asyncio.sleep(_PENDING_SECONDS)
        if self._listener:
            self._listener.close()
        for connection in list(self.connections):
            connection.end_if_idle()
        deadline = time.monotonic() + seconds
        while (self.connections or self._tasks) and time.monotonic() < deadline:
            for connection in list(self.connections):
                connection.end_stream()
            await asyncio.sleep(0.01)
        is_complete = not any(connection.phase is Phase.WORK for connection in self.connections)
        for connection in list(self.connections):
            connection.abort()
        for task in self._tasks:
            task.cancel()
        return is_complete

    def keep(self, task: asyncio.Task[None]) -> None:
        """Keep a reference to a mounted application's task until it ends, which the event loop does not."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def take(self, new: HttpConnection) -> bool:
        """Count a new connection, and close an idle one for it if there are too many; False if none is idle."""
        if len(self.connections) >= self.limits.connections:
            oldest = min(self.connections, key=HttpConnection.importance)
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
        """Count bytes of unanswered requests; beyond the limit, refuse the client that is sending most."""
        self.held += change
        while change > 0 and self.held > self.limits.held:
            sending = [each for each in self.connections if each.phase in (Phase.HEAD, Phase.BODY) and each.held]
            if not sending:
                return
            max(sending, key=lambda each: each.held).refuse_for_memory()

    def _sweep(self) -> None:
        """Check all clients for timeouts, with one timer for all of them."""
        now = time.monotonic()
        for connection in list(self.connections):
            connection.check(now)
        self._is_sweeping = bool(self.connections)
        if self._is_sweeping:
            asyncio.get_running_loop().call_later(self.limits.sweep, self._sweep)
