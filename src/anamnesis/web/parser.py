"""HTTP/1.1 from bytes to requests. Strict where leniency would let two readers see two different requests."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from anamnesis.web.message import Headers, Request
from anamnesis.web.router import escaped_path

MOST_HEAD = 1 << 20
MOST_BODY = 50 << 20
_MOST_KEPT = 4096
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_TARGET = re.compile(r"[^\x00-\x20\x7f]+")
_ABSOLUTE = re.compile(r"https?://([^/?]*)", re.IGNORECASE)
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_HOST = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:\[\]%]{0,300}")
_LENGTH = re.compile(r"[0-9]{1,18}")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\n]*)?")
_LONGEST_CHUNK_LINE = 4096


class Malformed(Exception):
    """Bytes that are not a request that can be answered; after them the connection cannot go on."""

    def __init__(self, status: int, reason: str = "") -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Head:
    """What stands after the first line of a request, and what it says about the body and the connection."""

    headers: Headers
    length: int
    is_chunked: bool
    keeps_alive: bool
    waits_for_leave: bool


class Parser:
    """Takes bytes as they come and gives the requests that are whole."""

    def __init__(self) -> None:
        self.keeps_alive = True
        self.waits_for_leave = False
        self._buffer = bytearray()
        self._searched = 0
        self._request: Request | None = None
        self._length = 0
        self._is_chunked = False
        self._chunks = bytearray()

    @property
    def size(self) -> int:
        """How many bytes have been taken that are no request yet."""
        return len(self._buffer)

    @property
    def is_between(self) -> bool:
        """Whether nothing of a next request is there."""
        return self._request is None and not self._buffer

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def next(self) -> Request | None:
        """The next whole request, or None until more has come. A body that is too long is cut off."""
        request = self._request or self._take_head()
        if request is None:
            return None
        if self._length > MOST_BODY:
            request.is_cut = True
        elif self._is_chunked:
            if not self._take_chunks(request):
                return None
        elif self._length and not self._take_body(request):
            return None
        if request.is_cut:
            self.keeps_alive = False
        self.waits_for_leave = False
        self._request = None
        return request

    def _take_head(self) -> Request | None:
        if not self._buffer:
            return None
        # A head that comes byte by byte is not looked through from its start each time.
        end = _HEAD_END.search(self._buffer, max(0, self._searched - 3))
        self._searched = 0 if end else len(self._buffer)
        if not end or end.start() > MOST_HEAD:
            if end or len(self._buffer) > MOST_HEAD:
                raise Malformed(431)
            return None
        text = self._buffer[: end.start()].decode("latin-1")
        del self._buffer[: end.end()]
        line, _, lines = text.partition("\n")
        method, target, version = _request_line(line.removesuffix("\r"))
        head = _kept_head(lines, version) if len(lines) < _MOST_KEPT else _head(lines, version)
        self.keeps_alive, self.waits_for_leave = head.keeps_alive, head.waits_for_leave
        self._length, self._is_chunked, self._chunks = head.length, head.is_chunked, bytearray()
        self._request = _request(method, target, head.headers)
        return self._request

    def _take_body(self, request: Request) -> bool:
        if len(self._buffer) < self._length:
            return False
        request.body = bytes(self._buffer[: self._length])
        del self._buffer[: self._length]
        return True

    def _take_chunks(self, request: Request) -> bool:
        while line := self._chunk_line():
            size, start = line
            if len(self._chunks) + size > MOST_BODY:
                request.is_cut = True
                return True
            if size == 0:
                return self._take_trailer(request, start)
            if len(self._buffer) < start + size + 2:
                return False
            self._chunks += self._buffer[start : start + size]
            if self._buffer[start + size : start + size + 2] != b"\r\n":
                raise Malformed(400, "malformed chunked encoding")
            del self._buffer[: start + size + 2]
        return False

    def _chunk_line(self) -> tuple[int, int] | None:
        """How large the next chunk is and where it starts; None until the line that says so is whole."""
        end = self._buffer.find(b"\n")
        if end < 0 and len(self._buffer) <= _LONGEST_CHUNK_LINE:
            return None
        size = _CHUNK_SIZE.fullmatch(bytes(self._buffer[:end]).removesuffix(b"\r")) if end >= 0 else None
        if not size:
            raise Malformed(400, "malformed chunked encoding")
        return int(size[1], 16), end + 1

    def _take_trailer(self, request: Request, start: int) -> bool:
        """Pass over the lines after the last chunk, up to an empty one."""
        position = start
        while (end := self._buffer.find(b"\n", position)) >= 0:
            if bytes(self._buffer[position:end]) in (b"", b"\r"):
                request.body = bytes(self._chunks)
                del self._buffer[: end + 1]
                return True
            position = end + 1
        if len(self._buffer) - start > MOST_HEAD:
            raise Malformed(431)
        return False


def _request_line(line: str) -> tuple[str, str, str]:
    parts = line.split(" ")
    if len(parts) != 3 or not _TOKEN.fullmatch(parts[0]) or not _TARGET.fullmatch(parts[1]):
        raise Malformed(400)
    method, target, version = parts
    if version not in ("HTTP/1.1", "HTTP/1.0"):
        raise Malformed(505, "unsupported protocol version") if version.startswith("HTTP/") else Malformed(400)
    return method, target, version


def _head(lines: str, version: str) -> Head:
    headers = Headers([_header(line.removesuffix("\r")) for line in lines.split("\n")] if lines else [])
    hosts, lengths = headers.all("host"), set(headers.all("content-length"))
    codings = [coding.lower() for coding in headers.all("transfer-encoding")]
    if not hosts and version == "HTTP/1.1":
        raise Malformed(400, "missing required Host header")
    if len(hosts) > 1:
        raise Malformed(400, "too many Host headers")
    if hosts and not _HOST.fullmatch(hosts[0]):
        raise Malformed(400, "malformed Host header")
    if codings and (codings != ["chunked"] or version == "HTTP/1.0"):
        raise Malformed(501, "unsupported transfer encoding")
    if codings and lengths:
        raise Malformed(400, "both Content-Length and Transfer-Encoding")
    if len(lengths) > 1 or not all(map(_LENGTH.fullmatch, lengths)):
        raise Malformed(400, "bad Content-Length")
    wishes = {wish.strip().lower() for wish in (headers.get("connection") or "").split(",")}
    return Head(
        headers=headers,
        length=int(lengths.pop()) if lengths else 0,
        is_chunked=bool(codings),
        keeps_alive=version == "HTTP/1.1" and "close" not in wishes,
        waits_for_leave=(headers.get("expect") or "").lower() == "100-continue",
    )


# A client sends the same headers with each of its requests.
_kept_head = functools.lru_cache(maxsize=256)(_head)


def _header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon or not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
        raise Malformed(400)
    return name.lower(), value.strip(" \t")


def _request(method: str, target: str, headers: Headers) -> Request:
    if absolute := _ABSOLUTE.match(target):
        # The address itself says which host is meant, and it goes before the header.
        headers = Headers([("host", absolute[1]), *(pair for pair in headers.pairs if pair[0] != "host")])
        target = target[absolute.end() :] or "/"
    path, _, query = target.partition("?")
    is_odd = target == "*" or (method == "CONNECT" and not path.startswith("/"))
    escaped = escaped_path(path) if path.startswith("/") or is_odd else None
    if escaped is None:
        raise Malformed(400)
    return Request(method, escaped, query, headers)
