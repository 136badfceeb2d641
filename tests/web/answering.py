"""An application for tests of the server alone: it answers each request with what a function makes of it."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable

from anamnesis.web.lanes import Lane
from anamnesis.web.message import Request, Response
from anamnesis.web.route import BodyLimit, Route

Answer = Callable[[Request], Response | Future[Response]]


class Answering:
    """Takes requests for any path, with bodies up to a limit."""

    def __init__(self, answer: Answer, limit: BodyLimit | None = None) -> None:
        self._answer = answer
        self._route = Route("POST", "/", lambda *_: Response(500), Lane.LOOP, {}, limit=limit or BodyLimit())

    def admit(self, request: Request) -> Route | Response:
        return self._route

    def respond(self, request: Request, route: Route) -> Response | Future[Response]:
        return self._answer(request)

    def refuse_body(self, request: Request, route: Route) -> Response:
        return route.limit.refusal()
