"""A route: its path, its function, its lane, and its description in the OpenAPI document."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from anamnesis.web.lanes import Lane
from anamnesis.web.message import Response, failure


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter in the query, with its schema."""

    about: str
    schema: Mapping[str, Any]
    is_needed: bool = False


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a request: a dataclass, and the fields that are required and must not be empty."""

    kind: type
    needed: tuple[str, ...] = ()
    is_one_needed: bool = False


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """The longest body that is accepted, and the answer to a longer one."""

    bytes: int = 1 << 20
    status: int = 413
    message: str = ""

    def refusal(self) -> Response:
        return failure(
            self.status, self.message or f"the body is too large: at most {self.bytes} bytes are accepted here"
        )


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of values of this type; null if it is empty."""

    kind: type


@dataclass(frozen=True, slots=True)
class OneOf:
    """JSON of a schema, or text of another media type if the client prefers it."""

    schema: Mapping[str, Any]
    type: str


# The body of an answer: a dataclass, a list of one, a schema, a media type other than JSON, or one of two.
Content = type | ListOf | Mapping[str, Any] | str | OneOf


# Returns the response to a request; in the lane TASK it is an async function. Engram's routes take an EngramRequest,
# and are bound to plain requests before they are served. A route that does not use engram.db gets no connection.
Call = Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True, eq=False)
class Route:
    """One method of one path. The docstring of `call` is its summary.

    `call_all` of a writing route answers several consecutive requests faster: it makes all changes, or raises and makes
    none.
    """

    method: str
    path: str
    call: Call
    lane: Lane
    answers: Mapping[int, Content]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    body: Body | Mapping[str, Any] | None = None  # or a schema, if the route checks the body itself
    call_all: Callable[[Sequence[Any], sqlite3.Connection], Sequence[Response]] | None = None
    limit: BodyLimit = BodyLimit()
    uses_engram: bool = True


def text(about: str) -> Parameter:
    return Parameter(about, {"type": "string"})


def words(about: str) -> Parameter:
    return Parameter(about, {"type": "string", "pattern": r"\S"}, is_needed=True)


def identity(about: str) -> Parameter:
    return Parameter(about, {"type": "integer", "format": "int64"}, is_needed=True)


def number(about: str, default: int) -> Parameter:
    return Parameter(f"{about} Anything but a whole number above 0 counts as missing.", {"default": default})


def flag(about: str) -> Parameter:
    return Parameter(f"{about} `1`, `t` or `true` is yes; anything but Go's boolean values is no.", {"default": False})


def values(**types: str) -> Mapping[str, Any]:
    """The schema of an object with these members."""
    return {
        "type": "object",
        "properties": {name: {"type": type} for name, type in types.items()},
        "required": sorted(types),
    }


ERROR = values(error="string")
PROJECT = text("Only of this project, whatever the case of its name.")
SCOPE = text("`personal`, or `project` for anything else.")
