"""The requests and answers of routes: HTTP without sockets, and without a dialect."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
MARKDOWN = "text/markdown; charset=utf-8"
# Sent with every answer: browsers may not guess its type, frame it, or embed it in pages of other origins.
SAFETY = (
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Content-Security-Policy", "frame-ancestors 'none'"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Referrer-Policy", "no-referrer"),
)


class Headers:
    """The headers of a request, with names in lower case. Requests share equal headers, so they are immutable."""

    __slots__ = ("_first", "pairs")

    def __init__(self, pairs: Sequence[tuple[str, str]] = ()) -> None:
        self.pairs = pairs
        self._first = dict(reversed(pairs))

    def get(self, name: str) -> str | None:
        """The first value of a name."""
        return self._first.get(name)

    def all(self, name: str) -> list[str]:
        return [value for each, value in self.pairs if each == name]


_NO_HEADERS = Headers()


@dataclass(slots=True)
class Request:
    """One request. `path` is still escaped; `parts` are the unescaped segments that the route's wildcards match."""

    method: str
    path: str
    query: str = ""
    headers: Headers = _NO_HEADERS
    body: bytes = b""
    parts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Response:
    """A complete answer. Only mounted applications stream answers."""

    status: int
    body: bytes = b""
    type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()


def failure(status: int, message: str, *headers: tuple[str, str]) -> Response:
    """An error with its reason, in the common form of errors."""
    body = json.dumps({"error": message}, separators=(",", ":"))
    return Response(status, body.encode("ascii") + b"\n", JSON, headers)


def unescape(text: str) -> str:
    """A part of a URL without its escapes; a byte that is not UTF-8 becomes a lone surrogate."""
    if "%" not in text and text.isascii():
        return text
    return unquote_to_bytes(text.encode("latin-1")).decode("utf-8", "surrogateescape")
