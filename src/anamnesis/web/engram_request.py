"""Requests and answers of Engram's routes: values and JSON follow Go's rules, and texts are redacted."""

from __future__ import annotations

import functools
import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from anamnesis.engram import gojson
from anamnesis.engram.clean import Row, cleaned
from anamnesis.engram.database import NotFound, Refused
from anamnesis.engram.gotext import whole
from anamnesis.engram.record import Marking, unmarked
from anamnesis.engram.search import Recall
from anamnesis.engram.sessions import SessionInUse
from anamnesis.engram.strings import trim_space
from anamnesis.notes.cleaning import Cleaning
from anamnesis.web.lanes import Lane
from anamnesis.web.message import JSON, Request, Response, unescape
from anamnesis.web.route import Route

if TYPE_CHECKING:
    from anamnesis.store.strength import Kind

    Used = Callable[[Kind, Iterable[int]], object]

# Names the kinds of secrets that were removed from a request before it was stored.
REDACTED = "X-Anamnesis-Redacted"
# Says how the results of a search were found if nothing has all of the words.
RECALLED = "X-Anamnesis-Recall"
# An estimate of the tokens of all results of a search, if requested.
TOKENS = "X-Anamnesis-Tokens"
# Counts the observations of an import that are newer or deleted here, with other texts.
SKIPPED = "X-Anamnesis-Skipped"
# Counts what an export lacks because it is machine-local.
LEFT_OUT = "X-Anamnesis-Left-Out"

_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_MOST_PARAMETERS = 10_000
_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE = frozenset(("0", "f", "F", "FALSE", "false", "False"))
_STATUSES = ((NotFound, 404), (SessionInUse, 409), (Refused, 500))

Answer = Callable[["EngramRequest", sqlite3.Connection], Response]


class Invalid(Exception):
    """An invalid request; the message is the answer, with status 400."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class EngramRequest:
    """One request. `cleaning` redacts its texts, `recall` is used if a search by words finds nothing, `used` records a
    use of observations, and `marked` says of observations in an answer that they are not the user's own.
    """

    __slots__ = ("_parameters", "_request", "cleaning", "marked", "recall", "used")

    def __init__(
        self,
        request: Request,
        *,
        strict: bool = False,
        recall: Recall | None = None,
        used: Used | None = None,
        marked: Marking = unmarked,
    ) -> None:
        self.used = used or _record_nothing
        self.marked = marked
        self.cleaning = Cleaning(strict=strict)
        self.recall = recall
        self._request = request
        self._parameters: Mapping[str, str] | None = None

    def text(self, name: str) -> str:
        """A query parameter, "" if it is missing; the first of several."""
        if self._parameters is None:
            self._parameters = parse_query(self._request.query)
        return self._parameters.get(name, "")

    def stored(self, name: str) -> str:
        """A query parameter in the form in which it is stored."""
        return self.cleaning(self.text(name))

    def integer(self, name: str, default: int = 0) -> int:
        """A query parameter as a number; anything else counts as missing."""
        number = whole(self.text(name))
        return default if number is None else number

    def flag(self, name: str, default: bool = False) -> bool:
        """A query parameter as true or false; anything else counts as missing."""
        value = self.text(name)
        return True if value in _TRUE else False if value in _FALSE else default

    def words(self) -> str:
        """The words to search for."""
        query = self.text("q")
        if not trim_space(query):
            raise Invalid("q parameter is required")
        return query

    def number_in_path(self, what: str) -> int:
        """The numeric id in the path; `what` names its kind in errors."""
        id = whole(self._request.parts["id"])
        if id is None:
            raise Invalid(f"invalid {what} id")
        return id

    def name_in_path(self) -> str:
        """The id of a session, from the path, as it is stored."""
        return self.cleaning(self._request.parts["id"])

    def body(self, kind: type[Row], *, alone: bool = False) -> Row:
        """The body as a value of this type, redacted."""
        try:
            return cleaned(gojson.loads(self._request.body, kind, alone=alone), self.cleaning.all)
        except gojson.InvalidJSON as error:
            raise Invalid(f"invalid json: {error}") from error

    def body_as_sent(self, kind: type[Row], most: int | None = None) -> Row | None:
        """The body's first bytes as a value of this type, not redacted; None if they are not JSON."""
        try:
            return gojson.loads(self._request.body[:most], kind)
        except gojson.InvalidJSON:
            return None


def _record_nothing(_kind: Kind, _ids: Iterable[int]) -> None:
    """The default of `used`."""


def answer(value: object, status: int = 200, *headers: tuple[str, str]) -> Response:
    """The value as JSON, as Go's encoder writes it."""
    return Response(status, gojson.dumps(value) + b"\n", JSON, headers)


def failure(status: int, message: str) -> Response:
    """An error with its reason, in Engram's form."""
    return answer({"error": message}, status)


def bound(
    routes: Iterable[Route],
    *,
    strict: bool = False,
    recall: Recall | None = None,
    used: Used | None = None,
    marked: Marking = unmarked,
) -> list[Route]:
    """Adapt Engram's routes to the server: they get plain requests, and return answers instead of raising errors.

    If `strict`, texts are stored and answered as they were sent, and a search finds only results with all words.
    """
    parsed = partial(
        EngramRequest,
        strict=strict,
        recall=None if strict else recall,
        used=used,
        marked=unmarked if strict else marked,
    )
    return [_bound(route, parsed) for route in routes]


def _bound(route: Route, parsed: Callable[[Request], EngramRequest]) -> Route:
    call, call_all = route.call, route.call_all
    shows_kinds = route.lane is Lane.WRITE

    @functools.wraps(call)
    def call_one(request: Request, db: sqlite3.Connection) -> Response:
        given = parsed(request)
        response = _answered(call, given, db)
        return _with_kinds(given, response) if shows_kinds else response

    def call_batch(requests: Sequence[Request], db: sqlite3.Connection) -> Sequence[Response]:
        given = [*map(parsed, requests)]
        return list(map(_with_kinds, given, call_all(given, db) if call_all else ()))

    return replace(route, call=call_one, call_all=call_batch if call_all else None)


def _answered(call: Answer, given: EngramRequest, db: sqlite3.Connection) -> Response:
    try:
        return call(given, db)
    except Invalid as error:
        return failure(400, error.message)
    except Refused as error:
        return failure(next(status for kind, status in _STATUSES if isinstance(error, kind)), error.message)


def _with_kinds(given: EngramRequest, response: Response) -> Response:
    """The answer with a header that names the redacted kinds; the body stays as in Engram."""
    kinds = given.cleaning.kinds
    return replace(response, headers=(*response.headers, (REDACTED, ", ".join(kinds)))) if kinds else response


def parse_query(query: str) -> Mapping[str, str]:
    """The first value of each parameter, as Go's net/url reads them. Malformed pairs are ignored."""
    if query.count("&") >= _MOST_PARAMETERS:
        return {}
    found: dict[str, str] = {}
    for pair in query.split("&"):
        if pair and ";" not in pair and not _BAD_ESCAPE.search(pair):
            name, _, value = pair.replace("+", " ").partition("=")
            found.setdefault(unescape(name), unescape(value))
    return found
