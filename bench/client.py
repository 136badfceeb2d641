"""Many HTTP connections from one cheap thread: each sends a request, reads its reply and sends the next.

It shares the machine with the daemon under test, so it does the minimum per request.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

Requests = Iterator[bytes]


@dataclass(slots=True)
class RequestTimes:
    """The times of the requests of one kind."""

    seconds: float = 0.0
    milliseconds: list[float] = field(default_factory=list)
    errors: int = 0

    @property
    def rate(self) -> float:
        return len(self.milliseconds) / self.seconds if self.seconds else 0.0

    def percentile(self, percent: float) -> float:
        ordered = sorted(self.milliseconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))] if ordered else float("nan")


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()


def post(path: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return f"{head}\r\n\r\n".encode() + body


def ask(port: int, request: bytes, timeout: float = 600.0) -> tuple[int, bytes]:
    """Send one request on a new connection; returns the status and the body."""
    with socket.create_connection(("127.0.0.1", port), timeout) as connection:
        connection.sendall(request)
        reply = bytearray()
        while _is_partial(reply):
            part = connection.recv(1 << 20)
            if not part:
                raise ConnectionError("The daemon closed the connection before it had answered.")
            reply += part
    return int(reply[9:12]), bytes(reply[reply.index(b"\r\n\r\n") + 4 :])


def drive(port: int, kinds: Sequence[tuple[Requests, int]], seconds: float) -> list[RequestTimes]:
    """Send each kind of request on its number of connections for `seconds`."""
    selector = selectors.DefaultSelector()
    results = [RequestTimes() for _ in kinds]
    for (requests, connections), measured in zip(kinds, results, strict=True):
        for _ in range(connections):
            connection = _Connection(port, requests, measured)
            selector.register(connection.socket, selectors.EVENT_READ, connection)
    started = time.perf_counter()
    end = started + seconds
    everyone: list[_Connection] = [key.data for key in selector.get_map().values()]
    for connection in everyone:
        connection.send()
    waiting = len(everyone)
    # Pending replies are awaited at the end: a request without a reply would be an error.
    while waiting:
        for key, _ in selector.select():
            if key.data.receive() and time.perf_counter() < end:
                key.data.send()
            elif key.data.is_idle:
                waiting -= 1
                selector.unregister(key.fileobj)
                key.data.socket.close()
    taken = time.perf_counter() - started
    for measured in results:
        measured.seconds = taken
    return results


class _Connection:
    """One connection with at most one pending request."""

    def __init__(self, port: int, requests: Requests, measured: RequestTimes) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), 600.0)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.is_idle = True
        self._requests = requests
        self._measured = measured
        self._reply = b""
        self._sent = 0.0

    def send(self) -> None:
        request = next(self._requests)
        self.is_idle = False
        self._sent = time.perf_counter()
        self.socket.sendall(request)

    def receive(self) -> bool:
        """Read available data; returns whether the reply is complete and the connection usable."""
        part = self.socket.recv(1 << 18)
        self._reply += part
        if part and _is_partial(self._reply):
            return False
        self.is_idle = True
        if not part:
            self._measured.errors += 1
            return False
        self._measured.milliseconds.append((time.perf_counter() - self._sent) * 1000)
        if self._reply[9:10] != b"2":
            self._measured.errors += 1
        self._reply = b""
        return True


def _is_partial(reply: bytes | bytearray) -> bool:
    end = reply.find(b"\r\n\r\n")
    if end < 0:
        return True
    head = reply[:end].lower()
    if b"\r\ntransfer-encoding: chunked" in head:
        return not reply.endswith(b"\r\n0\r\n\r\n")
    length = head.find(b"\r\ncontent-length: ")
    return len(reply) - end - 4 < int(head[length + 18 :].partition(b"\r\n")[0]) if length >= 0 else False
