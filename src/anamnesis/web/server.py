"""Connections: bytes in, answers out, in order, until the daemon is told to stop. Knows no routes."""

from __future__ import annotations

import asyncio
import functools
import socket
import time
from asyncio import Future, Transport
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from typing import cast

from anamnesis.web.message import TEXT, Request, Response
from anamnesis.web.parser import Malformed, Parser

# An answer, or what will have it: most answers are there at once and need no task.
App = Callable[[Request], Response | Future[Response]]

_BACKLOG = 1024
# What a client may send ahead while its request is worked on, and how many requests it may have answered in a row
# before others have their turn.
_MOST_AHEAD = 1 << 18
_MOST_IN_A_ROW = 64
_PENDING_SECONDS = 0.05
_LINGER_SECONDS = 2.0
_REASONS = {status.value: status.phrase for status in HTTPStatus}


class Server:
    """The listening sockets and the connections that came of them."""

    app: App

    def __init__(self) -> None:
        self.is_stopping = False
        self.connections: set[Connection] = set()
        self._listener: asyncio.Server | None = None

    async def listen(self, listening: socket.socket, app: App) -> None:
        """Take connections from a socket that is bound already."""
        self.app = app
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(lambda: Connection(self), sock=listening, backlog=_BACKLOG)

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
        is_complete = not any(connection.is_busy for connection in self.connections)
        for connection in list(self.connections):
            connection.abort()
        return is_complete


class Connection(asyncio.Protocol):
    """One client: its requests are answered one after the other."""

    def __init__(self, server: Server) -> None:
        self.is_busy = False
        self._server = server
        self._parser = Parser()
        self._transport: Transport
        self._can_write = asyncio.Event()
        self._can_write.set()
        self._is_refused = False
        self._has_all = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(Transport, transport)
        self._server.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.connections.discard(self)
        self._can_write.set()

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        self._parser.feed(data)
        if not self.is_busy:
            self._advance()
        elif self._parser.size > _MOST_AHEAD:
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        """A client may shut its side after its last request and still wait for the answers."""
        self._has_all = True
        return self.is_busy

    def pause_writing(self) -> None:
        """A client that does not read its answers is not read either."""
        self._can_write.clear()
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._can_write.set()
        self._advance()

    def end_if_idle(self) -> None:
        if not self.is_busy and self._parser.is_between:
            self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    def _advance(self) -> None:
        """Answer the requests that are there; stop at one whose answer takes longer."""
        for _ in range(_MOST_IN_A_ROW):
            if self.is_busy or not self._can_write.is_set() or self._transport.is_closing() or self._is_refused:
                return
            try:
                request = self._parser.next()
            except Malformed as error:
                self._refuse(error)
                return
            if request is None:
                self._wait_for_more()
                return
            self._start(request)
        asyncio.get_running_loop().call_soon(self._advance)

    def _wait_for_more(self) -> None:
        if self._has_all:
            self._transport.close()
            return
        if self._parser.waits_for_leave:
            self._parser.waits_for_leave = False
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self._transport.resume_reading()

    def _start(self, request: Request) -> None:
        keeps_alive = self._parser.keeps_alive
        found = self._server.app(request)
        if isinstance(found, Response):
            self._answer(request, found, keeps_alive)
        else:
            self.is_busy = True
            found.add_done_callback(functools.partial(self._finish, request, keeps_alive))

    def _finish(self, request: Request, keeps_alive: bool, found: Future[Response]) -> None:
        self.is_busy = False
        if found.cancelled() or self._transport.is_closing():
            self._transport.close()
            return
        self._answer(request, found.result(), keeps_alive)
        self._advance()

    def _answer(self, request: Request, response: Response, keeps_alive: bool) -> None:
        keeps_alive = keeps_alive and not self._server.is_stopping
        if not isinstance(response.body, bytes):
            self.is_busy = True
            task = asyncio.ensure_future(self._stream(request, response, response.body, keeps_alive))
            task.add_done_callback(self._end_stream)
            return
        head = _head(response, f"Content-Length: {len(response.body)}\r\n", keeps_alive)
        self._transport.write(head if request.method == "HEAD" else head + response.body)
        if request.is_cut:
            self._linger()
        elif not keeps_alive:
            self._transport.close()

    async def _stream(
        self, request: Request, response: Response, parts: AsyncIterator[bytes], keeps_alive: bool
    ) -> None:
        """Send a body in parts as they come, no faster than the client takes them.

        Where the connection goes on, each part has its length; where it ends, its end is that of the body.
        """
        self._transport.write(_head(response, "Transfer-Encoding: chunked\r\n" if keeps_alive else "", keeps_alive))
        async for part in parts:
            await self._can_write.wait()
            if self._transport.is_closing() or request.method == "HEAD":
                break
            if part:
                self._transport.write(b"%x\r\n%b\r\n" % (len(part), part) if keeps_alive else part)
        if not keeps_alive:
            self._transport.close()
        elif request.method != "HEAD":
            self._transport.write(b"0\r\n\r\n")

    def _end_stream(self, task: asyncio.Task[None]) -> None:
        self.is_busy = False
        if task.cancelled() or task.exception():
            # The client must not take a part for the whole.
            self.abort()
            if not task.cancelled():
                context = {"message": "a stream failed", "exception": task.exception()}
                asyncio.get_running_loop().call_exception_handler(context)
        else:
            self._advance()

    def _refuse(self, error: Malformed) -> None:
        reason = f"{error.status} {_REASONS[error.status]}" + (f": {error.reason}" if error.reason else "")
        response = Response(error.status, reason.encode(), TEXT)
        self._transport.write(_head(response, f"Content-Length: {len(reason)}\r\n", False) + reason.encode())
        self._linger()

    def _linger(self) -> None:
        """Let the client read its answer before the connection goes: closing at once would discard it."""
        self._is_refused = True
        self._transport.write_eof()
        asyncio.get_running_loop().call_later(_LINGER_SECONDS, self._transport.close)


def _head(response: Response, framing: str, keeps_alive: bool) -> bytes:
    start = _start_of_head(response.status, response.type, response.headers)
    end = "" if keeps_alive else "Connection: close\r\n"
    return f"{start}Date: {_date(int(time.time()))}\r\n{framing}{end}\r\n".encode("latin-1")


@functools.lru_cache(maxsize=64)
def _start_of_head(status: int, type: str, headers: tuple[tuple[str, str], ...]) -> str:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    type_line = f"Content-Type: {type}\r\n" if type else ""
    return f"HTTP/1.1 {status} {_REASONS[status]}\r\n{type_line}{lines}"


@functools.lru_cache(maxsize=1)
def _date(second: int) -> str:
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(second))
