"""One request to a mounted application: its body as it arrives, its response as it is sent, until either side ends."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

from anamnesis.web.message import SAFETY, Request
from anamnesis.web.mount import ASGI, Message, Mount
from anamnesis.web.response_head import REASONS

if TYPE_CHECKING:
    from anamnesis.web.connection import HttpConnection

_NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")
_SAFETY = tuple((name.lower().encode(), f"{name}: {value}\r\n".encode()) for name, value in SAFETY)
_WITHOUT_BODY = (204, 304)


class ClientGone(OSError):
    """The client has closed the connection to which an application sends."""


class Exchange:
    """A request that a mounted application answers, in a task of its own."""

    def __init__(self, connection: HttpConnection, mount: Mount, request: Request) -> None:
        self.mount = mount
        self.request = request
        self.is_started = False
        self.is_complete = False
        self.has_body = False  # whether all of the request's body has arrived
        self.unread = 0  # bytes of the body that the application has not received yet
        self.awaits_body = False
        self.keeps_alive = True
        self._connection = connection
        self._parts: list[bytes] = []
        self._was_body_received = False
        self._is_client_gone = False
        self._changed = asyncio.Event()
        self._left: int | None = None  # bytes that the response still has to send, if it has a Content-Length
        self._is_chunked = False
        self._sends_body = request.method != "HEAD"
        self.task = asyncio.ensure_future(mount(self._scope(), self.receive, self.send))

    @property
    def is_stream(self) -> bool:
        """Whether the response has started and has no known end."""
        return self.is_started and not self.is_complete and self._left is None

    def add(self, part: bytes, *, is_last: bool) -> None:
        """Add a part of the request's body."""
        if part:
            self._parts.append(part)
            self.unread += len(part)
        self.has_body = is_last
        self._changed.set()

    def disconnect(self) -> None:
        """Tell the application that the client has gone."""
        self._is_client_gone = True
        self._changed.set()

    async def receive(self) -> Message:
        while not self._parts and not (self.has_body and not self._was_body_received):
            if self._is_client_gone or self.is_complete:
                return {"type": "http.disconnect"}
            self._changed.clear()
            if not self.has_body:
                self.awaits_body = True
                self._connection.ask_for_body()
            await self._changed.wait()
        self.awaits_body = False
        body, self._parts, self.unread = b"".join(self._parts), [], 0
        self._was_body_received = self.has_body
        return {"type": "http.request", "body": body, "more_body": not self.has_body}

    async def send(self, message: Message) -> None:
        if self._connection.is_closing:
            raise ClientGone("The client has closed the connection.")
        if message["type"] == "http.response.start" and not self.is_started:
            self.is_started = True
            self._start(message["status"], [(bytes(name), bytes(value)) for name, value in message.get("headers", ())])
        elif message["type"] == "http.response.body" and self.is_started and not self.is_complete:
            self._send_body(message.get("body", b""), is_last=not message.get("more_body", False))
            await self._connection.drain()
        else:
            raise RuntimeError(f"An application cannot send {message['type']!r} at this point.")

    def _start(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        lines = [f"HTTP/1.1 {status} {REASONS.get(status, '')}\r\n".encode()]
        names = set()
        for name, value in headers:
            if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
                raise RuntimeError(f"{name!r}: {value!r} is not a valid header of a response.")
            names.add(lowered := name.lower())
            if lowered == b"content-length":
                self._left = int(value)
            elif lowered == b"connection":
                self.keeps_alive = self.keeps_alive and b"close" not in value.lower()
            if lowered not in (b"transfer-encoding", b"connection"):
                lines.append(name + b": " + value + b"\r\n")
        lines += [line for name, line in _SAFETY if name not in names]
        self._sends_body = self._sends_body and status not in _WITHOUT_BODY
        if self._left is None and status not in _WITHOUT_BODY:
            if self._connection.is_http_11:
                self._is_chunked = True
                lines.append(b"Transfer-Encoding: chunked\r\n")
            else:
                self.keeps_alive = False
        # The rest of a body that has not arrived by now may never be read.
        self.keeps_alive = self.keeps_alive and self.has_body and self._connection.keeps_alive
        self._connection.start_response(self, status, b"".join(lines), has_date=b"date" in names)

    def _send_body(self, body: bytes, *, is_last: bool) -> None:
        if self._sends_body:
            if self._left is not None:
                self._left -= len(body)
                if self._left < 0 or (is_last and self._left):
                    raise RuntimeError("The length of the response's body differs from its Content-Length.")
            framed = b"%x\r\n%b\r\n" % (len(body), body) if self._is_chunked and body else body
            self._connection.write(framed + b"0\r\n\r\n" if self._is_chunked and is_last else framed)
        if is_last:
            self.is_complete = True
            self._changed.set()
            self._connection.end_response(self)

    def _scope(self) -> dict[str, Any]:
        request = self.request
        return {
            "type": "http",
            "asgi": ASGI,
            "http_version": "1.1" if self._connection.is_http_11 else "1.0",
            "method": request.method,
            "scheme": "http",
            "path": unquote_to_bytes(request.path.encode("latin-1")).decode("utf-8", "replace"),
            "raw_path": request.path.encode("latin-1"),
            "query_string": request.query.encode("latin-1"),
            "root_path": "",
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in request.headers.pairs],
            "client": self._connection.address("peername"),
            "server": self._connection.address("sockname"),
        }
