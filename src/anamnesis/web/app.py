"""From a request to its answer: the guard, the router, the route in its lane, and the answers to errors."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
import traceback
from asyncio import Future
from collections.abc import Callable, Sequence
from functools import partial

from anamnesis.errors import AnamnesisError, explained
from anamnesis.web.guard import Guard
from anamnesis.web.lanes import Lane, Lanes
from anamnesis.web.message import Request, Response, failure, unescape
from anamnesis.web.metrics import Metrics
from anamnesis.web.mount import Mount
from anamnesis.web.refused_page import readable
from anamnesis.web.route import Route
from anamnesis.web.router import Router, clean

# Logs the traceback of an unexpected error.
Report = Callable[[str], None]


class App:
    """Answers requests with the routes of a daemon."""

    def __init__(
        self,
        routes: Sequence[Route],
        added: Sequence[Route],
        lanes: Lanes,
        guard: Guard,
        metrics: Metrics,
        report: Report,
        mounts: Sequence[Mount] = (),
        open_engram: Callable[[], object] | None = None,
    ) -> None:
        """`open_engram` is called before the first route that uses engram.db; None if it is open."""
        self._open_engram = open_engram
        self._opening: Future[object] | None = None
        self._metrics = metrics
        self._router = Router(routes, added)
        self._batches = {route: partial(self._run_all, route) for route in (*routes, *added)}
        self._lanes = lanes
        self._guard = guard
        self._report = report
        self._mounts = mounts

    def admit(self, request: Request) -> Route | Mount | Response:
        """The route or application of a request, decided by its head, or the answer if it is refused or has none."""
        refused = self._guard(request)
        if refused:
            found: Route | Mount | Response = readable(request, refused)
        else:
            found = (self._mounts and self._page(request)) or self._router.find(request)
        if isinstance(found, Response):
            self._metrics.count("", "", found.status, 0.0)
        elif self._metrics.on_work:
            self._metrics.arrived(request.path)
        return found

    async def close(self) -> None:
        """Shut down the mounted applications."""
        for mount in self._mounts:
            await mount.close()

    def count(self, request: Request, path: str, status: int, seconds: float) -> None:
        """Count an answer of a mounted application."""
        self._metrics.count(request.method, path, status, seconds)

    def refuse_body(self, request: Request, route: Route) -> Response:
        """The answer to a body that is longer than the route accepts."""
        refusal = route.limit.refusal()
        self._metrics.count(request.method, route.path, refusal.status, 0.0)
        return refusal

    def respond(self, request: Request, route: Route) -> Response | Future[Response]:
        """The answer of the route, or a future of it from the route's lane."""
        if self._open_engram and route.uses_engram:
            return asyncio.ensure_future(self._respond_when_open(request, route))
        started = time.perf_counter()
        if route.lane is Lane.LOOP:
            return self._counted(request, route.path, started, self._run(route, request, self._loop_db(route)))
        try:
            future = self._begin(request, route)
        except AnamnesisError as error:
            return self._counted(request, route.path, started, self._failed(error))

        def count(done: Future[Response]) -> None:
            if not done.cancelled():
                self._counted(request, route.path, started, done.result())

        future.add_done_callback(count)
        return future

    async def _respond_when_open(self, request: Request, route: Route) -> Response:
        """The answer, once engram.db is open. Requests that arrive earlier wait for the same opening."""
        try:
            if self._open_engram:
                self._opening = self._opening or self._lanes.call(Lane.GIT, self._open_engram)
                await asyncio.shield(self._opening)
        except Exception as error:  # the daemon's outermost boundary: the next request tries again
            self._opening = None
            return self._counted(request, route.path, time.perf_counter(), self._failed(error))
        self._open_engram = None
        response = self.respond(request, route)
        return response if isinstance(response, Response) else await response

    def _loop_db(self, route: Route) -> sqlite3.Connection | None:
        return self._lanes.connection() if route.uses_engram else None

    def _page(self, request: Request) -> Mount | Response | None:
        """The application of a path; a browser that requests the root is redirected to the first one.

        The router redirects a path with empty or dot segments.
        """
        if request.path == "/" and request.method == "GET" and "text/html" in (request.headers.get("accept") or ""):
            return Response(302, type="", headers=(("Location", f"{self._mounts[0].prefix}/"), ("Vary", "Accept")))
        if clean(request.path) != request.path:
            return None
        path = unescape(request.path)
        return next((mount for mount in self._mounts if mount.has(path)), None)

    def _begin(self, request: Request, route: Route) -> Future[Response]:
        if route.lane is Lane.WRITE:
            return self._lanes.write(self._batches[route], request, self._failed)
        if route.lane is Lane.TASK:
            return asyncio.ensure_future(self._run_task(route, request))
        if not route.uses_engram:
            return self._lanes.call(route.lane, partial(self._run, route, request, None))
        return self._lanes.read(route.lane, partial(self._run, route, request), self._failed)

    def _counted(self, request: Request, path: str, started: float, response: Response) -> Response:
        self._metrics.count(request.method, path, response.status, time.perf_counter() - started)
        return response

    def _run_all(self, route: Route, requests: Sequence[Request], db: sqlite3.Connection) -> Sequence[Response]:
        """The answers to consecutive requests: in one call if the route can, else one by one."""
        if route.call_all and len(requests) > 1:
            with contextlib.suppress(Exception):  # nothing was changed; one by one shows which request fails
                return route.call_all(requests, db)
        return [self._run(route, request, db) for request in requests]

    def _run(self, route: Route, request: Request, db: sqlite3.Connection | None) -> Response:
        """The answer of the route; an exception becomes an answer too."""
        try:
            response: Response = route.call(request, db)
        except Exception as error:  # the daemon's outermost boundary: one bad request must not end it
            return self._failed(error)
        return response

    async def _run_task(self, route: Route, request: Request) -> Response:
        try:
            response: Response = await route.call(request, self._loop_db(route))
        except Exception as error:  # the daemon's outermost boundary: one bad request must not end it
            return self._failed(error)
        return response

    def _failed(self, error: Exception) -> Response:
        if isinstance(error, AnamnesisError | OSError):
            return failure(503, str(explained(error) if isinstance(error, OSError) else error))
        self._report("".join(traceback.format_exception(error)))
        if isinstance(error, sqlite3.Error):
            return failure(500, f"{error} ({getattr(error, 'sqlite_errorname', 'SQLite')})")
        return failure(500, "an internal error occurred; see the log under ANAMNESIS_HOME")
