"""A request and its answer, as routes see them: no sockets, no loop. Values are read as Go's net/url and strconv do."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

from anamnesis.engram import gojson
from anamnesis.engram.gotext import whole
from anamnesis.notes.cleaning import Cleaning

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"

_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE = frozenset(("0", "f", "F", "FALSE", "false", "False"))
_MOST_PARAMETERS = 10_000


class Headers:
    """The headers of a request, their names in lower case. Many requests have the same ones: they are not changed."""

    __slots__ = ("_first", "pairs")

    def __init__(self, pairs: Sequence[tuple[str, str]] = ()) -> None:
        self.pairs = pairs
        self._first = dict(reversed(pairs))

    def get(self, name: str) -> str | None:
        """The first of a name."""
        return self._first.get(name)

    def all(self, name: str) -> list[str]:
        return [value for each, value in self.pairs if each == name]


_NO_HEADERS = Headers()


@dataclass(slots=True)
class Request:
    """One request. `path` is escaped as it came; `parts` are what the route's wildcards took, unescaped.

    `cleaning` redacts what it carries.
    """

    method: str
    path: str
    query: str = ""
    headers: Headers = _NO_HEADERS
    body: bytes = b""
    parts: Mapping[str, str] = field(default_factory=dict)
    cleaning: Cleaning = field(default_factory=Cleaning)
    _parameters: Mapping[str, str] | None = field(default=None, init=False, repr=False)

    def text(self, name: str) -> str:
        """A query parameter, "" where there is none; of several the first."""
        if self._parameters is None:
            self._parameters = parse_query(self.query)
        return self._parameters.get(name, "")

    def stored(self, name: str) -> str:
        """A query parameter in the form in which it is stored."""
        return self.cleaning(self.text(name))

    def integer(self, name: str, default: int) -> int:
        """A query parameter as a number; what is none counts as not given."""
        number = whole(self.text(name))
        return default if number is None else number

    def flag(self, name: str, default: bool = False) -> bool:
        """A query parameter as true or false; what is neither counts as not given."""
        value = self.text(name)
        return True if value in _TRUE else False if value in _FALSE else default


@dataclass(frozen=True, slots=True)
class Response:
    """An answer: its body is whole, or comes in parts that are sent as they come."""

    status: int
    body: bytes | AsyncIterator[bytes] = b""
    type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()


def answer(value: object, status: int = 200, *headers: tuple[str, str]) -> Response:
    """The value as JSON, in the form that Go's encoder gives it."""
    return Response(status, gojson.dumps(value) + b"\n", JSON, headers)


def failure(status: int, message: str, *headers: tuple[str, str]) -> Response:
    """What was wrong, in the form of every error."""
    return answer({"error": message}, status, *headers)


class Invalid(Exception):
    """A request that cannot be answered as it is; the message says why, with status 400."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def parse_query(query: str) -> Mapping[str, str]:
    """The first value of each parameter; a pair that is malformed is passed over."""
    if query.count("&") >= _MOST_PARAMETERS:
        return {}
    found: dict[str, str] = {}
    for pair in query.split("&"):
        if pair and ";" not in pair and not _BAD_ESCAPE.search(pair):
            name, _, value = pair.replace("+", " ").partition("=")
            found.setdefault(unescape(name), unescape(value))
    return found


def unescape(text: str) -> str:
    """A part of an address without its escapes; a byte that is not UTF-8 becomes a lone surrogate."""
    if "%" not in text and text.isascii():
        return text
    return unquote_to_bytes(text.encode("latin-1")).decode("utf-8", "surrogateescape")
