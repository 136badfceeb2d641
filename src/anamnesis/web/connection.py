"""One client: bytes in, answers out, in order. Requests are refused by their head if possible. Knows no routes."""

from __future__ import annotations

import asyncio
import functools
import time
from asyncio import Future, Transport
from enum import IntEnum
from typing import TYPE_CHECKING, cast

from anamnesis.errors import AnamnesisError
from anamnesis.web.http_exchange import Exchange
from anamnesis.web.message import Request, Response, failure
from anamnesis.web.mount import Mount
from anamnesis.web.parser import Malformed, Parser, TooLong
from anamnesis.web.refused_page import readable
from anamnesis.web.response_head import date_line, head_of, refusal_of

if TYPE_CHECKING:
    from anamnesis.web.http_server import HttpServer
    from anamnesis.web.route import Route

# The bytes that a client may send ahead while its request is being answered, and the number of its requests that are
# answered before other clients get their turn.
_MOST_AHEAD = 1 << 18
_MOST_IN_A_ROW = 64
_RETRY = ("Retry-After", "1")
_FAILED = failure(500, "the application failed; the log under ANAMNESIS_HOME has the reason")


class Phase(IntEnum):
    """What a connection does. The lowest phases are closed first to make room for a new connection."""

    LINGER = 0
    IDLE = 1
    HEAD = 2
    BODY = 3
    WORK = 4


LINGER, IDLE, HEAD, BODY, WORK = Phase


class HttpConnection(asyncio.Protocol):
    """One client, whose requests are answered one after the other."""

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
        self._exchange: Exchange | None = None
        self._may_send_continue = False
        self._at_work = 0
        self._unsent = 0
        self._unsent_since = 0.0
        self._has_all = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(Transport, transport)
        if not self._server.take(self):
            self._send(failure(503, "the daemon has as many connections as it can serve; try again", _RETRY))
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.connections.discard(self)
        self._can_write.set()
        if self._exchange:
            self._exchange.disconnect()
        self._drop()

    def data_received(self, data: bytes) -> None:
        if self.phase is LINGER:
            return
        self._parser.feed(data)
        if self.phase is not WORK:
            self._advance()
            return
        if self._exchange:
            self._since = time.monotonic()
            self._feed_exchange(self._exchange)
        self._report_held()
        if self._parser.size + (self._exchange.unread if self._exchange else 0) > _MOST_AHEAD:
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        """A client may close its side after its last request and still read the answers."""
        self._has_all = True
        early = Malformed(400, "the body ended too early")
        if self.phase is BODY:
            self._refuse(early)
        elif self._exchange and not self._exchange.has_body:
            self._cut_exchange(refusal_of(early))
        elif self._exchange:
            self._exchange.disconnect()
        return self.phase is WORK

    def pause_writing(self) -> None:
        """Stop reading from a client that does not read its answers."""
        self._can_write.clear()
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._can_write.set()
        self._unsent = 0
        if self._exchange and self._exchange.unread <= _MOST_AHEAD:
            self._transport.resume_reading()
        self._advance()

    def end_stream(self) -> None:
        """End an endless response. Other applications get a disconnect."""
        if self._exchange and self._exchange.is_stream:
            self._cut_exchange()
        elif self._exchange:
            self._exchange.disconnect()

    def end_if_idle(self) -> None:
        if self.phase is LINGER or (self.phase <= HEAD and not self._parser.size):
            self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    def importance(self) -> tuple[Phase, float]:
        """The order in which connections are closed for a new one; among equals, the longest waiting first."""
        return WORK if self._transport.get_write_buffer_size() else self.phase, self._since

    def refuse_for_memory(self) -> None:
        self._refuse_with(failure(503, "too many requests are unfinished; send this one again in a moment", _RETRY))

    def check(self, now: float) -> None:
        """Close the connection if its client has taken too long."""
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
            # A client that has sent nothing gets no answer.
            if self._exchange:
                self._cut_exchange(failure(408, late))
            elif self._parser.size or self._route:
                self._refuse_with(failure(408, late))
            else:
                self._transport.close()

    def _late(self, waited: float, body_waited: float) -> str:
        """Which part of a request did not arrive in time; "" if there is time left."""
        limits = self._server.limits
        is_in_body = self._exchange.awaits_body if self._exchange else self.phase is BODY
        if self.phase is HEAD and waited > limits.head:
            return f"the head of the request did not arrive within {limits.head:g} seconds"
        if is_in_body and waited > limits.body:
            return f"nothing more of the body arrived for {limits.body:g} seconds"
        if is_in_body and body_waited > limits.whole_body:
            return f"the body did not arrive within {limits.whole_body:g} seconds"
        return ""

    def _advance(self) -> None:
        """Answer the requests that have arrived; stop at one whose answer is not ready at once."""
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
            self._report_held()

    def _take_request(self) -> bool:
        """Answer the next request or begin to, if it has arrived; returns whether it had."""
        request, route = self._request, self._route
        if request is None or route is None:
            request = self._parser.head()
            if request is None:
                return False
            found = self._server.app.admit(request)
            if isinstance(found, Response):
                self._answer(request, found, is_cut=self._parser.has_body)
                return True
            if isinstance(found, Mount):
                self._begin_exchange(request, found)
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
                if self._parser.expects_continue:
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
            self._report_held()
            self._transport.close()
            return
        self._answer(request, found.result())
        self._advance()

    def _answer(self, request: Request, response: Response, *, is_cut: bool = False) -> None:
        """Send the answer. If the body of the request has not arrived (`is_cut`), then close the connection."""
        keeps_alive = self.keeps_alive and not is_cut
        head = head_of(response, f"Content-Length: {len(response.body)}\r\n", keeps_alive)
        self._transport.write(head if request.method == "HEAD" else head + response.body)
        self.phase = IDLE
        if is_cut:
            self._linger()
        elif not keeps_alive:
            self._transport.close()

    def _begin_exchange(self, request: Request, mount: Mount) -> None:
        """Let a mounted application answer. The body of the request may arrive later."""
        self.phase, self._since = WORK, time.monotonic()
        self._body_since = self._since
        self._may_send_continue = self._parser.expects_continue
        self._exchange = exchange = Exchange(self, mount, request)
        self._server.keep(exchange.task)
        exchange.task.add_done_callback(functools.partial(self._end_exchange, exchange))
        self._feed_exchange(exchange)

    def _feed_exchange(self, exchange: Exchange) -> None:
        if exchange.has_body:
            return
        try:
            if self._parser.has_body:
                part, is_last = self._parser.part(exchange.mount.limit.bytes)
                exchange.add(part, is_last=is_last)
            else:
                exchange.add(b"", is_last=True)
        except TooLong:
            self._cut_exchange(exchange.mount.limit.refusal())
        except Malformed as error:
            self._cut_exchange(refusal_of(error))

    def _cut_exchange(self, refusal: Response | None = None) -> None:
        """Cancel a mounted application, with a refusal if it has not started its response."""
        exchange, self._exchange = self._exchange, None
        if exchange is None:
            return
        exchange.disconnect()
        exchange.task.cancel()
        if refusal and not exchange.is_started and not self.is_closing:
            self._server.app.count(exchange.request, exchange.mount.prefix, refusal.status, 0.0)
            self._refuse_with(readable(exchange.request, refusal))
        else:
            self.abort()

    def _end_exchange(self, exchange: Exchange, task: asyncio.Task[None]) -> None:
        """Handle an application that has returned or failed; most have sent their whole response by then."""
        error = None if task.cancelled() else task.exception()
        if error and not self.is_closing and not isinstance(error, AnamnesisError):
            context = {"message": "a mounted application failed", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)
        if exchange is self._exchange and not exchange.is_complete:
            self._cut_exchange(failure(503, str(error)) if isinstance(error, AnamnesisError) else _FAILED)

    # The interface for an exchange.

    @property
    def keeps_alive(self) -> bool:
        return self._parser.keeps_alive and not self._server.is_stopping

    @property
    def is_http_11(self) -> bool:
        return self._parser.is_http_11

    @property
    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def address(self, name: str) -> tuple[str, int] | None:
        found = self._transport.get_extra_info(name)
        return (found[0], found[1]) if found else None

    def ask_for_body(self) -> None:
        """Read more, as the application waits for the rest of the body."""
        self._since = time.monotonic()
        self._report_held()
        if self._may_send_continue:
            self._may_send_continue = False
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if self._can_write.is_set():
            self._transport.resume_reading()

    def start_response(self, exchange: Exchange, status: int, head: bytes, *, has_date: bool) -> None:
        self._may_send_continue = False
        self._report_held()
        seconds = time.monotonic() - self._body_since
        self._server.app.count(exchange.request, exchange.mount.prefix, status, seconds)
        date = "" if has_date else date_line()
        end = "" if exchange.keeps_alive else "Connection: close\r\n"
        self._transport.write(head + f"{date}{end}\r\n".encode())

    def write(self, data: bytes) -> None:
        self._transport.write(data)

    async def drain(self) -> None:
        """Wait until the client has read most of the written bytes."""
        await self._can_write.wait()

    def end_response(self, exchange: Exchange) -> None:
        """Continue with the next request, while the application may still run after its response."""
        self._exchange = None
        self.phase = IDLE
        if not exchange.has_body:
            self._linger()
        elif not exchange.keeps_alive or self._server.is_stopping:
            self._transport.close()
        else:
            asyncio.get_running_loop().call_soon(self._advance)

    def _refuse(self, error: Malformed) -> None:
        self._refuse_with(refusal_of(error))

    def _refuse_with(self, response: Response) -> None:
        """Answer a request that has not arrived completely, and close the connection."""
        self._send(response)
        self._linger()

    def _send(self, response: Response) -> None:
        head = head_of(response, f"Content-Length: {len(response.body)}\r\n", False)
        self._transport.write(head + response.body)

    def _linger(self) -> None:
        """Let the client read its answer before the connection is closed; closing at once would discard it."""
        self.phase, self._since = LINGER, time.monotonic()
        self._drop()
        self._transport.write_eof()
        self._transport.resume_reading()

    def _drop(self) -> None:
        """Discard the buffered bytes of an incomplete request."""
        self._parser = Parser()
        self._request = self._route = None
        self._report_held()

    def _report_held(self) -> None:
        """Report the number of buffered bytes to the server."""
        held = self._parser.size + (self._exchange.unread if self._exchange else self._at_work)
        if held != self.held:
            change, self.held = held - self.held, held
            self._server.hold(change)
