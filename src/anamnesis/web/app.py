"""From a request to its answer: the guard, the router, the route in its lane, and what every failure says."""

from __future__ import annotations

import contextlib
import sqlite3
import time
import traceback
from asyncio import Future
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from anamnesis.engram.database import NotFound, Refused
from anamnesis.engram.sessions import SessionInUse
from anamnesis.errors import AnamnesisError
from anamnesis.web.access import Access
from anamnesis.web.guard import Guard
from anamnesis.web.message import Invalid, Request, Response, failure
from anamnesis.web.metrics import Metrics
from anamnesis.web.route import Lane, Route
from anamnesis.web.router import Router

# Told what went wrong inside, for the log.
Report = Callable[[str], None]
# Names the kinds of secrets that were removed from a request before it was stored.
REDACTED = "X-Anamnesis-Redacted"

_STATUSES = ((NotFound, 404), (SessionInUse, 409), (Refused, 500), (AnamnesisError, 503))


class App:
    """Answers requests with the routes of a daemon."""

    def __init__(
        self,
        routes: Sequence[Route],
        later: Sequence[Route],
        access: Access,
        guard: Guard,
        metrics: Metrics,
        report: Report,
        *,
        strict: bool = False,
    ) -> None:
        self._is_strict = strict
        self._metrics = metrics
        self._router = Router(routes, later)
        self._changes = {route: partial(self._run_all, route) for route in (*routes, *later)}
        self._access = access
        self._guard = guard
        self._report = report

    def admit(self, request: Request) -> Route | Response:
        """The route of a request, decided at its head; or the answer where it is refused or has no route."""
        request.cleaning.strict = self._is_strict
        found = self._guard(request) or self._router.find(request)
        if isinstance(found, Response):
            self._metrics.count("", "", found.status, 0.0)
        return found

    def refuse_body(self, request: Request, route: Route) -> Response:
        """The answer to a body that is longer than the route takes."""
        refusal = route.limit.refusal()
        self._metrics.count(request.method, route.path, refusal.status, 0.0)
        return refusal

    def respond(self, request: Request, route: Route) -> Response | Future[Response]:
        """The answer of the route, at once or when its lane has it."""
        started = time.perf_counter()
        if route.lane is Lane.HERE:
            return self._counted(request, route.path, started, self._run(route, request, self._access.here))
        if route.lane is Lane.WRITE:
            future = self._access.write(self._changes[route], request, self._failed)
        else:
            work = partial(self._run, route, request)
            future = self._access.aside(work, self._failed, may_be_long=route.lane is Lane.LONG)
        future.add_done_callback(lambda done: self._counted(request, route.path, started, done.result()))
        return future

    def _counted(self, request: Request, path: str, started: float, response: Response) -> Response:
        self._metrics.count(request.method, path, response.status, time.perf_counter() - started)
        return response

    def _run_all(self, route: Route, requests: Sequence[Request], db: sqlite3.Connection) -> Sequence[Response]:
        """What the route answers to requests that came in a row: at once where it can, else to one after the other.

        A header names the kinds of secrets that were redacted: the body stays as Engram's clients know it.
        """
        responses = self._answers(route, requests, db)
        return [
            _with_kinds(response, request.cleaning.kinds) if request.cleaning.kinds else response
            for request, response in zip(requests, responses, strict=True)
        ]

    def _answers(self, route: Route, requests: Sequence[Request], db: sqlite3.Connection) -> Sequence[Response]:
        if route.call_all and len(requests) > 1:
            with contextlib.suppress(Exception):  # nothing was done: by themselves they tell whose failure it is
                return route.call_all(requests, db)
        return [self._run(route, request, db) for request in requests]

    def _run(self, route: Route, request: Request, db: sqlite3.Connection) -> Response:
        """What the route answers; whatever it raises is an answer too."""
        try:
            return route.call(request, db)
        except Invalid as error:
            return failure(400, error.message)
        except Exception as error:  # the daemon's outermost boundary: one bad request must not end it
            return self._failed(error)

    def _failed(self, error: Exception) -> Response:
        for kind, status in _STATUSES:
            if isinstance(error, kind):
                return failure(status, error.message if isinstance(error, Refused) else str(error))
        self._report("".join(traceback.format_exception(error)))
        if isinstance(error, sqlite3.Error):
            return failure(500, f"{error} ({getattr(error, 'sqlite_errorname', 'SQLite')})")
        return failure(500, "something went wrong inside; the log under ANAMNESIS_HOME says what")


def _with_kinds(response: Response, kinds: Sequence[str]) -> Response:
    return replace(response, headers=(*response.headers, (REDACTED, ", ".join(kinds))))
