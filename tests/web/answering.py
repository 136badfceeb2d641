"""An application for tests of the server alone: a function makes the answer to each request."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from asyncio import Future, StreamReader, StreamWriter
from collections.abc import AsyncIterator, Awaitable, Callable

from anamnesis.web.http_server import HttpServer
from anamnesis.web.lanes import Lane
from anamnesis.web.message import TEXT, Request, Response
from anamnesis.web.mount import Mount
from anamnesis.web.route import BodyLimit, Route

Answer = Callable[[Request], Response | Future[Response]]
Connect = Callable[[], Awaitable[tuple[StreamReader, StreamWriter]]]


def echo(request: Request) -> Response:
    """An answer with the length of the body."""
    return Response(200, b"%d" % len(request.body), TEXT)


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


@contextlib.asynccontextmanager
async def serving(
    server: HttpServer, answer: Answer | Mount = echo, most: int = 1 << 20, last_seconds: float = 0.1
) -> AsyncIterator[Connect]:
    """A way to connect to a server that answers so; it is stopped afterwards."""
    listening = socket.create_server(("127.0.0.1", 0))
    await server.listen(listening, Answering(answer, BodyLimit(most)))
    opened: list[StreamWriter] = []

    async def connect() -> tuple[StreamReader, StreamWriter]:
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        opened.append(writer)
        return reader, writer

    try:
        yield connect
    finally:
        for writer in opened:
            writer.close()
        await asyncio.wait_for(server.stop(last_seconds), 60)
