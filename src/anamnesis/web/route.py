"""What a route is: where it is, what it does, in which lane it runs, and what the API's document says of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from anamnesis.web.message import Request, Response, failure


class Lane(Enum):
    """Where a route runs: at once on the event loop, in a thread, or among the writes.

    What may take long has threads of its own, so that a list never waits for a search.
    """

    HERE = auto()
    ASIDE = auto()
    LONG = auto()
    WRITE = auto()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter in the query, with its schema."""

    about: str
    schema: Mapping[str, Any]
    is_needed: bool = False


@dataclass(frozen=True, slots=True)
class Body:
    """What a request carries: a dataclass, and which of its fields have to be there and not be empty."""

    kind: type
    needed: tuple[str, ...] = ()
    is_one_needed: bool = False


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """How long a body may be, and the answer to a longer one."""

    bytes: int = 1 << 20
    status: int = 413
    message: str = ""

    def refusal(self) -> Response:
        return failure(self.status, self.message or f"the body is too large: at most {self.bytes} bytes are taken here")


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of such values; null where it is empty."""

    kind: type


# What an answer carries: a dataclass, a list of one, a schema, or a media type that is not JSON.
Content = type | ListOf | Mapping[str, Any] | str


@dataclass(frozen=True, slots=True, eq=False)
class Route:
    """One method of one path. Its function's docstring is its summary; its first answer is the usual one.

    A route that writes may have a faster way to do several requests in a row: it does all of them, or raises and has
    done none.
    """

    method: str
    path: str
    call: Callable[[Request, sqlite3.Connection], Response]
    lane: Lane
    answers: Mapping[int, Content]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    body: Body | None = None
    call_all: Callable[[Sequence[Request], sqlite3.Connection], Sequence[Response]] | None = None
    limit: BodyLimit = BodyLimit()


def text(about: str) -> Parameter:
    return Parameter(about, {"type": "string"})


def words(about: str) -> Parameter:
    return Parameter(about, {"type": "string", "pattern": r"\S"}, is_needed=True)


def identity(about: str) -> Parameter:
    return Parameter(about, {"type": "integer", "format": "int64"}, is_needed=True)


def number(about: str, default: int) -> Parameter:
    return Parameter(f"{about} What is no whole number above 0 counts as not given.", {"default": default})


def flag(about: str) -> Parameter:
    return Parameter(f"{about} `1`, `t` or `true` is yes; what is none of Go's truth values is no.", {"default": False})


def values(**types: str) -> Mapping[str, Any]:
    """The schema of an object with these members."""
    return {
        "type": "object",
        "properties": {name: {"type": type} for name, type in types.items()},
        "required": sorted(types),
    }


ERROR = values(error="string")
