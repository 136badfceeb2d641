"""Parses HTTP/1.1 requests. Strict wherever two parsers could read different requests from the same bytes."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from anamnesis.web.message import Headers, Request
from anamnesis.web.router import escaped_path

MOST_HEAD = 1 << 20
MOST_TRAILER = 8 << 10
_MOST_KEPT = 4096
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_TARGET = re.compile(r"[^\x00-\x20\x7f]+")
_VERSION = re.compile(r"HTTP/[0-9]+\.[0-9]+")
_ABSOLUTE = re.compile(r"https?://([^/?]*)", re.IGNORECASE)
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_HOST = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:\[\]%]{0,300}")
_LENGTH = re.compile(r"[0-9]{1,18}")
_FORBIDDEN_TRAILERS = frozenset(("content-length", "trailer", "transfer-encoding"))
# The line before a chunk: Go allows blanks after the size or an extension, not both. A chunk ends with the CRLF that
# stands before the next line.
_FIRST_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,16})(?:[ \t]*|;[^\r\n]*)\r\n")
_NEXT_CHUNK = re.compile(rb"\r\n" + _FIRST_CHUNK.pattern)
_LONGEST_CHUNK_LINE = 4096
# The most bytes that all chunk lines of a body may have beyond 16 bytes and twice the data of each, as in Go.
_MOST_EXCESS = 16 << 10


class Malformed(Exception):
    """Bytes that are not a valid request; the connection has to be closed."""

    def __init__(self, status: int, reason: str = "") -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Head:
    """The headers of a request, and what they say about the body and the connection."""

    headers: Headers
    length: int
    is_chunked: bool
    keeps_alive: bool
    expects_continue: bool
    is_http_11: bool


class TooLong(Exception):
    """A body that is longer than its route accepts; the connection has to be closed."""


class Parser:
    """Accepts bytes as they arrive, and returns the head of each request, then its body. No byte is searched twice."""

    def __init__(self) -> None:
        self.keeps_alive = True
        self.expects_continue = False
        self.is_http_11 = True
        self.has_body = False
        self._buffer = bytearray()
        self._searched = 0
        self._length = 0
        self._is_chunked = False
        self._chunks = bytearray()
        self._chunk_line = _FIRST_CHUNK
        self._left_of_chunk = 0
        self._excess = 0
        self._is_in_trailer = False
        self._given = 0

    @property
    def size(self) -> int:
        """The number of buffered bytes of incomplete requests."""
        return len(self._buffer) + len(self._chunks)

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def head(self) -> Request | None:
        """The next request without its body; None until its head is complete. The previous body must have been read."""
        if not self._buffer:
            return None
        # A head that arrives byte by byte is not searched from its start each time.
        end = _HEAD_END.search(self._buffer, max(0, self._searched - 3))
        self._searched = 0 if end else len(self._buffer)
        if not end or end.start() > MOST_HEAD:
            if end or len(self._buffer) > MOST_HEAD:
                raise Malformed(431)
            return None
        text = _lines(self._buffer[: end.start()])
        del self._buffer[: end.end()]
        line, _, lines = text.partition("\n")
        method, target, version = _request_line(line)
        head = _kept_head(lines, version) if len(lines) < _MOST_KEPT else _head(lines, version)
        self.keeps_alive, self.expects_continue = head.keeps_alive, head.expects_continue
        self.is_http_11 = head.is_http_11
        self._length, self._is_chunked = head.length, head.is_chunked
        self.has_body = head.is_chunked or head.length > 0
        return _request(method, target, head.headers)

    def body(self, most: int) -> bytes | None:
        """The body that follows the head, or None until it is complete; raises for one of more than `most` bytes."""
        if self._length > most:
            raise TooLong
        if self._is_chunked:
            return self._take_trailer() if self._is_in_trailer or self._take_chunks(most) else None
        if len(self._buffer) < self._length:
            return None
        with memoryview(self._buffer) as view:
            body = bytes(view[: self._length])
        del self._buffer[: self._length]
        return body

    def part(self, most: int) -> tuple[bytes, bool]:
        """The part of the body that has arrived since the last call, and whether it is the last.

        Raises for a body of more than `most` bytes.
        """
        if self._is_chunked:
            is_at_end = self._is_in_trailer or self._take_chunks(most - self._given)
            part = bytes(self._chunks)
            self._chunks.clear()
            is_last = is_at_end and self._take_trailer() is not None
            self._given = 0 if is_last else self._given + len(part)
            return part, is_last
        if self._length > most:
            raise TooLong
        with memoryview(self._buffer) as view:
            part = bytes(view[: self._length])
        del self._buffer[: len(part)]
        self._length -= len(part)
        return part, not self._length

    def _take_chunks(self, most: int) -> bool:
        """Decode the chunks that have arrived; returns whether the last one has."""
        at = 0
        while True:
            if self._left_of_chunk:
                part = self._buffer[at : at + self._left_of_chunk]
                self._chunks += part
                self._left_of_chunk -= len(part)
                at += len(part)
                if self._left_of_chunk:
                    break
            start = at + (2 if self._chunk_line is _NEXT_CHUNK else 0)
            line = self._chunk_line.match(self._buffer, at, start + _LONGEST_CHUNK_LINE)
            if not line:
                self._check_start_of_line(at, start)
                break
            at = line.end()
            self._left_of_chunk = int(line[1], 16)
            if not self._left_of_chunk:
                self._is_in_trailer = True
                at -= len(b"\r\n")  # together with the empty line, this ends the trailers
                break
            self._excess = max(0, self._excess + at - start - 16 - 2 * self._left_of_chunk)
            if self._excess > _MOST_EXCESS:
                raise Malformed(400, "chunked encoding with too much that is no data")
            if len(self._chunks) + self._left_of_chunk > most:
                raise TooLong
            self._chunk_line = _NEXT_CHUNK
        del self._buffer[:at]
        return self._is_in_trailer

    def _check_start_of_line(self, at: int, start: int) -> None:
        """Refuse bytes that cannot become the line of a chunk, whatever follows."""
        ending = self._buffer[at:start]
        length = len(self._buffer) - start
        if not b"\r\n".startswith(ending) or self._buffer.find(b"\n", start) >= 0 or length >= _LONGEST_CHUNK_LINE:
            raise Malformed(400, "malformed chunked encoding")

    def _take_trailer(self) -> bytes | None:
        """The body, once the trailers after the last chunk have arrived; they are checked and discarded."""
        end = self._buffer.find(b"\r\n\r\n", max(0, self._searched - 3))
        self._searched = 0 if end >= 0 else len(self._buffer)
        if end > MOST_TRAILER or (end < 0 and len(self._buffer) > MOST_TRAILER + 4):
            raise Malformed(431, "trailers are too long")
        if end < 0:
            return None
        if end > 0:
            for line in _lines(self._buffer[2:end]).split("\n"):
                _header(line)
        del self._buffer[: end + 4]
        body = bytes(self._chunks)
        self._chunks, self._chunk_line, self._excess, self._is_in_trailer = bytearray(), _FIRST_CHUNK, 0, False
        return body


def _lines(data: bytes | bytearray) -> str:
    """The lines of a head, separated by LF alone. A remaining CR is invalid."""
    return data.decode("latin-1").replace("\r\n", "\n")


def _request_line(line: str) -> tuple[str, str, str]:
    parts = line.split(" ")
    if len(parts) != 3 or not _TOKEN.fullmatch(parts[0]) or not _TARGET.fullmatch(parts[1]):
        raise Malformed(400)
    method, target, version = parts
    if version not in ("HTTP/1.1", "HTTP/1.0"):
        raise Malformed(505, "unsupported protocol version") if _VERSION.fullmatch(version) else Malformed(400)
    return method, target, version


def _head(lines: str, version: str) -> Head:
    headers = Headers([_header(line) for line in lines.split("\n")] if lines else [])
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
    if codings and any(_FORBIDDEN_TRAILERS.intersection(_elements(each)) for each in headers.all("trailer")):
        raise Malformed(400, "bad trailer key")
    options = _elements(headers.get("connection") or "")
    return Head(
        headers=headers,
        length=int(lengths.pop()) if lengths else 0,
        is_chunked=bool(codings),
        keeps_alive=version == "HTTP/1.1" and "close" not in options,
        expects_continue=(headers.get("expect") or "").lower() == "100-continue",
        is_http_11=version == "HTTP/1.1",
    )


def _elements(value: str) -> set[str]:
    return {each.strip().lower() for each in value.split(",")}


# A client sends the same headers with each of its requests.
_kept_head = functools.lru_cache(maxsize=256)(_head)


def _header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon or not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
        raise Malformed(400)
    return name.lower(), value.strip(" \t")


def _request(method: str, target: str, headers: Headers) -> Request:
    if absolute := _ABSOLUTE.match(target):
        # The host of the target overrides the header.
        if not _HOST.fullmatch(absolute[1]):
            raise Malformed(400, "malformed host")
        headers = Headers([("host", absolute[1]), *(pair for pair in headers.pairs if pair[0] != "host")])
        target = target[absolute.end() :] or "/"
    path, _, query = target.partition("?")
    is_odd = target == "*" or (method == "CONNECT" and not path.startswith("/"))
    escaped = escaped_path(path) if path.startswith("/") or is_odd else None
    if escaped is None:
        raise Malformed(400)
    return Request(method, escaped, query, headers)
