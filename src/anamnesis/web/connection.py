"""One client: bytes in, answers out, in order. A request is refused at its head where it can be. Knows no routes."""

from __future__ import annotations

import asyncio
import functools
import time
from asyncio import Future, Transport
from collections.abc import AsyncIterator
from enum import IntEnum
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol, cast

from anamnesis.web.message import TEXT, Request, Response, failure
from anamnesis.web.parser import Malformed, Parser, TooLong

if TYPE_CHECKING:
    from anamnesis.web.http_server import HttpServer
    from anamnesis.web.route import Route

# What a client may send ahead while its request is worked on, and how many requests it may have answered in a row
# before others have their turn.
_MOST_AHEAD = 1 << 18
_MOST_IN_A_ROW = 64
_RETRY = ("Retry-After", "1")
_REASONS = {status.value: status.phrase for status in HTTPStatus}
# No answer may be taken for another type than it says, be framed, or be embedded by a page of another origin.
_SAFE = (
    "X-Content-Type-Options: nosniff\r\n"
    "X-Frame-Options: DENY\r\n"
    "Content-Security-Policy: frame-ancestors 'none'\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Referrer-Policy: no-referrer\r\n"
)


class App(Protocol):
    """What answers requests."""

    def admit(self, request: Request) -> Route | Response:
        """The route of a request whose body has not come yet, or the answer that refuses it."""

    def respond(self, request: Request, route: Route) -> Response | Future[Response]:
        """The answer, or what will have it: most answers are there at once and need no task."""

    def refuse_body(self, request: Request, route: Route) -> Response:
        """The answer to a body that is too long for the route."""


class Phase(IntEnum):
    """What a connection does: the least important first, which are the first to be closed for a new one."""

    LINGER = 0
    IDLE = 1
    HEAD = 2
    BODY = 3
    WORK = 4


LINGER, IDLE, HEAD, BODY, WORK = Phase


class Connection(asyncio.Protocol):
    """One client: its requests are answered one after the other."""

    def __init__(self, server: HttpServer) -> None:
        self.phase = HEAD
        self.held = 0
        self._since = time.monotonic()
        self._body_since = 0.0
        self._server = server
        self._parser = Parser()
        self._transport: Transport
        self._can_write = asyncio.Event()
        self._can_write.set()
        self._request: Request | None = None
        self._route: Route | None = None
        self._at_work = 0
        self._unsent = 0
        self._unsent_since = 0.0
        self._has_all = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(Transport, transport)
        if not self._server.take(self):
            self._say(failure(503, "the daemon has as many connections as it can serve; try again", _RETRY))
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.connections.discard(self)
        self._can_write.set()
        self._drop()

    def data_received(self, data: bytes) -> None:
        if self.phase is LINGER:
            return
        self._parser.feed(data)
        if self.phase is not WORK:
            self._advance()
            return
        self._weigh()
        if self._parser.size > _MOST_AHEAD:
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        """A client may shut its side after its last request and still wait for the answers."""
        self._has_all = True
        if self.phase is BODY:
            self._refuse(Malformed(400, "the body ended too early"))
        return self.phase is WORK

    def pause_writing(self) -> None:
        """A client that does not read its answers is not read either."""
        self._can_write.clear()
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._can_write.set()
        self._unsent = 0
        self._advance()

    def end_if_idle(self) -> None:
        if self.phase is LINGER or (self.phase <= HEAD and not self._parser.size):
            self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    def importance(self) -> tuple[Phase, float]:
        """What is closed first for a new connection, if it is not above a head: what has waited longest."""
        return WORK if self._transport.get_write_buffer_size() else self.phase, self._since

    def refuse_for_memory(self) -> None:
        self._refuse_with(failure(503, "too many requests are unfinished; send this one again in a moment", _RETRY))

    def check(self, now: float) -> None:
        """End the connection where its client has taken too long."""
        limits = self._server.limits
        if unsent := self._transport.get_write_buffer_size():
            if unsent != self._unsent:
                self._unsent, self._unsent_since = unsent, now
            elif now - self._unsent_since > limits.unread:
                self.abort()
            self._since = now
            return
        waited = now - self._since
        if self.phase is LINGER and waited > limits.linger:
            self.abort()
        elif self.phase is IDLE and waited > limits.idle:
            self._transport.close()
        elif late := self._late(waited, now - self._body_since):
            # A client that has sent nothing has asked nothing.
            self._refuse_with(failure(408, late)) if self._parser.size or self._route else self._transport.close()

    def _late(self, waited: float, body_waited: float) -> str:
        """What has not come of a request in time; nothing where there is still time."""
        limits = self._server.limits
        if self.phase is HEAD and waited > limits.head:
            return f"the head of the request did not come within {limits.head:g} seconds"
        if self.phase is BODY and waited > limits.body:
            return f"nothing more of the body came for {limits.body:g} seconds"
        if self.phase is BODY and body_waited > limits.whole_body:
            return f"the body did not come within {limits.whole_body:g} seconds"
        return ""

    def _advance(self) -> None:
        """Answer the requests that are there; stop at one whose answer takes longer."""
        try:
            for _ in range(_MOST_IN_A_ROW):
                if not IDLE <= self.phase <= BODY or not self._can_write.is_set() or self._transport.is_closing():
                    return
                if not self._take_request():
                    self._wait_for_more()
                    return
            asyncio.get_running_loop().call_soon(self._advance)
        except Malformed as error:
            self._refuse(error)
        finally:
            self._weigh()

    def _take_request(self) -> bool:
        """Answer the next request or begin to, if what that needs has come; whether it had."""
        request, route = self._request, self._route
        if request is None or route is None:
            request = self._parser.head()
            if request is None:
                return False
            found = self._server.app.admit(request)
            if isinstance(found, Response):
                self._answer(request, found, is_cut=self._parser.has_body)
                return True
            self._request, self._route = request, route = request, found
        if self._parser.has_body:
            try:
                body = self._parser.body(route.limit.bytes)
            except TooLong:
                self._answer(request, self._server.app.refuse_body(request, route), is_cut=True)
                return True
            if body is None:
                return False
            request.body = body
        self._start(request, route)
        return True

    def _wait_for_more(self) -> None:
        self._transport.resume_reading()
        now = time.monotonic()
        if self._has_all:
            self._transport.close()
        elif self._route:
            if self.phase is not BODY:
                self.phase, self._body_since = BODY, now
                if self._parser.waits_for_leave:
                    self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self._since = now
        elif not self._parser.size:
            self.phase, self._since = IDLE, now
        elif self.phase is not HEAD:
            self.phase, self._since = HEAD, now

    def _start(self, request: Request, route: Route) -> None:
        self._request = self._route = None
        found = self._server.app.respond(request, route)
        if isinstance(found, Response):
            self._answer(request, found)
        else:
            self.phase, self._at_work = WORK, len(request.body)
            found.add_done_callback(functools.partial(self._finish, request))

    def _finish(self, request: Request, found: Future[Response]) -> None:
        self.phase, self._at_work = IDLE, 0
        if found.cancelled() or self._transport.is_closing():
            self._weigh()
            self._transport.close()
            return
        self._answer(request, found.result())
        self._advance()

    def _answer(self, request: Request, response: Response, *, is_cut: bool = False) -> None:
        """Send the answer. Where the request is cut, for its body has not come, the connection ends with it."""
        keeps_alive = self._parser.keeps_alive and not is_cut and not self._server.is_stopping
        if not isinstance(response.body, bytes):
            self.phase = WORK
            task = asyncio.ensure_future(self._stream(request, response, response.body, keeps_alive))
            task.add_done_callback(self._end_stream)
            return
        head = _head(response, f"Content-Length: {len(response.body)}\r\n", keeps_alive)
        self._transport.write(head if request.method == "HEAD" else head + response.body)
        self.phase = IDLE
        if is_cut:
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
        self.phase = IDLE
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
        self._refuse_with(Response(error.status, reason.encode(), TEXT))

    def _refuse_with(self, response: Response) -> None:
        """Answer what has not come whole, and end."""
        self._say(response)
        self._linger()

    def _say(self, response: Response) -> None:
        body = cast(bytes, response.body)
        self._transport.write(_head(response, f"Content-Length: {len(body)}\r\n", False) + body)

    def _linger(self) -> None:
        """Let the client read its answer before the connection goes: closing at once would discard it."""
        self.phase, self._since = LINGER, time.monotonic()
        self._drop()
        self._transport.write_eof()
        self._transport.resume_reading()

    def _drop(self) -> None:
        """Forget what has come and is no request yet."""
        self._parser = Parser()
        self._request = self._route = None
        self._weigh()

    def _weigh(self) -> None:
        """Let the server know how much is held now."""
        held = self._parser.size + self._at_work
        if held != self.held:
            change, self.held = held - self.held, held
            self._server.hold(change)


def _head(response: Response, framing: str, keeps_alive: bool) -> bytes:
    start = _start_of_head(response.status, response.type, response.headers)
    end = "" if keeps_alive else "Connection: close\r\n"
    return f"{start}Date: {_date(int(time.time()))}\r\n{framing}{end}\r\n".encode("latin-1")


@functools.lru_cache(maxsize=64)
def _start_of_head(status: int, type: str, headers: tuple[tuple[str, str], ...]) -> str:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    type_line = f"Content-Type: {type}\r\n" if type else ""
    return f"HTTP/1.1 {status} {_REASONS[status]}\r\n{type_line}{lines}{_SAFE}"


@functools.lru_cache(maxsize=1)
def _date(second: int) -> str:
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(second))
