"""The daemon's application for any ASGI server, with the same answers as the daemon's own server."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack

from anamnesis.errors import AnamnesisError
from anamnesis.web.app import App
from anamnesis.web.message import SAFETY, Headers, Request, Response
from anamnesis.web.mount import Message, Mount, Receive, Send
from anamnesis.web.parser import Malformed
from anamnesis.web.response_head import refusal_of
from anamnesis.web.route import Route
from anamnesis.web.router import escaped_path


class AsgiApp:
    """Opens the memory at the startup of the server and closes it at its shutdown."""

    def __init__(self, opened: Callable[[], AbstractContextManager[App]]) -> None:
        self._opened = opened
        self._app: App | None = None

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._run_lifespan(receive, send)
        elif scope["type"] == "http" and self._app:
            await self._answer(self._app, scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close"})
        else:
            raise RuntimeError("The memory is not open: the server has to run the application's lifespan.")

    async def _run_lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        with ExitStack() as stack:
            try:
                self._app = stack.enter_context(self._opened())
            except AnamnesisError as error:
                await send({"type": "lifespan.startup.failed", "message": str(error)})
                return
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await self._app.close()
            self._app = None
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, app: App, scope: Message, receive: Receive, send: Send) -> None:
        request = _request(scope)
        if request is None:
            await _send(refusal_of(Malformed(400)), send)
            return
        found = app.admit(request)
        if isinstance(found, Mount):
            await found(scope, receive, send)
            return
        response = await _respond(app, found, request, receive) if isinstance(found, Route) else found
        if response:
            await _send(response, send)


async def _respond(app: App, route: Route, request: Request, receive: Receive) -> Response | None:
    """The answer of a route, once the body has arrived; None if the client has gone."""
    body = bytearray()
    is_last = False
    while not is_last:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        is_last = not message.get("more_body", False)
        if len(body) > route.limit.bytes:
            return app.refuse_body(request, route)
    request.body = bytes(body)
    found = app.respond(request, route)
    return found if isinstance(found, Response) else await found


def _request(scope: Message) -> Request | None:
    """The request of a scope; None if its path is malformed."""
    raw = scope.get("raw_path")
    path = escaped_path(raw.decode("latin-1") if raw else scope["path"])
    if path is None:
        return None
    headers = Headers([(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]])
    return Request(scope["method"], path, scope["query_string"].decode("latin-1"), headers)


async def _send(response: Response, send: Send) -> None:
    length = (("Content-Length", str(len(response.body))),)
    type = (("Content-Type", response.type),) if response.type else ()
    headers = [
        (name.lower().encode("latin-1"), value.encode("latin-1"))
        for name, value in (*type, *response.headers, *SAFETY, *length)
    ]
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": response.body})
