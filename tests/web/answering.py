"""An application for tests of the server alone: it answers each request with what a function makes of it."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable

from anamnesis.web.lanes import Lane
from anamnesis.web.message import Request, Response
from anamnesis.web.mount import Mount
from anamnesis.web.route import BodyLimit, Route

Answer = Callable[[Request], Response | Future[Response]]


class Answering:
    """Takes requests for any path, with bodies up to a limit, or lets a mounted application answer them."""

    def __init__(self, answer: Answer | Mount, limit: BodyLimit | None = None) -> None:
        self._mount = answer if isinstance(answer, Mount) else None
        self._answer = answer
        self._route = Route("POST", "/", lambda *_: Response(500), Lane.LOOP, {}, limit=limit or BodyLimit())

    def admit(self, request: Request) -> Route | Mount | Response:
        return self._mount or self._route

    def respond(self, request: Request, route: Route) -> Response | Future[Response]:
        assert not isinstance(self._answer, Mount)
        return self._answer(request)

    def count(self, request: Request, path: str, status: int, seconds: float) -> None:
        """Nothing is counted."""

    def refuse_body(self, request: Request, route: Route) -> Response:
        return route.limit.refusal()
