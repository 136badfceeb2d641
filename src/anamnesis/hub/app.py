"""The hub's ASGI application: its routes, and every error as one sentence of JSON.

A new surface is a module with a list of routes, added to `routes`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anamnesis.errors import AnamnesisError
from anamnesis.hub import device_routes, exchange_routes, health_routes, live_routes, mcp, oauth, search_routes
from anamnesis.hub.refusal import NotAuthenticated, TooMany, status_of
from anamnesis.hub.routes import Hub, hub_of
from anamnesis.hub.ui.site import build_site
from anamnesis.web.guard import PAGES
from anamnesis.web.metrics import Metrics

_log = logging.getLogger("anamnesis.hub")
_NO_STORE = (b"cache-control", b"no-store")
_NO_SNIFF = (b"x-content-type-options", b"nosniff")


def build(hub: Hub) -> Starlette:
    app = Starlette(
        routes=[*routes(), Mount(PAGES, build_site(hub))],
        middleware=[Middleware(_Counting, metrics=hub.metrics)],
        exception_handlers={AnamnesisError: _refuse, HTTPException: _refuse_http, Exception: _fail},
    )
    app.state.hub = hub
    return app


def routes() -> Sequence[Route]:
    """Every route but those of the dashboard. Its docstring is its documentation."""
    return [
        *health_routes.ROUTES,
        *exchange_routes.ROUTES,
        *device_routes.ROUTES,
        *search_routes.ROUTES,
        *mcp.ROUTES,
        *oauth.ROUTES,
        *live_routes.ROUTES,
        Route("/", show_dashboard),
    ]


async def show_dashboard(_: Request) -> Response:
    """A person who types the hub's address is led to the dashboard."""
    return RedirectResponse(f"{PAGES}/")


def answer_of(error: AnamnesisError) -> JSONResponse:
    """An error as JSON, with its status."""
    status = status_of(error)
    headers = {}
    if isinstance(error, TooMany):
        headers["Retry-After"] = str(error.seconds)
    elif isinstance(error, NotAuthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    return JSONResponse({"error": error.message, "hint": error.hint}, status, headers)


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, AnamnesisError)  # noqa: S101  it is registered for this class
    if getattr(error, "status", 0) in (503, 507):
        _log.warning("%s", error)
    answer = answer_of(error)
    issuer = hub_of(request).issuer
    if issuer and request.url.path == mcp.PATH and answer.status_code in (401, 403):
        answer.headers["WWW-Authenticate"] = issuer.challenge(answer.status_code)
    return answer


async def _refuse_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101  it is registered for this class
    known = {404: f"There is nothing at {request.url.path}.", 405: f"{request.method} is not possible here."}
    sentence = known.get(error.status_code, error.detail)
    return JSONResponse({"error": sentence, "hint": ""}, error.status_code, error.headers)


async def _fail(request: Request, _: Exception) -> Response:
    _log.error("%s %s failed", request.method, request.url.path)  # uvicorn logs the trace
    return JSONResponse({"error": "The hub failed at this request.", "hint": "Its log says more."}, 500)


class _Counting:
    """Counts answers by route and status, and keeps them out of caches."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], _NO_STORE, _NO_SNIFF]
            await send(message)

        try:
            await self._app(scope, receive, counted)
        finally:
            route = scope.get("route")
            path = getattr(route, "path", "")
            self._metrics.count(scope["method"], path, status, time.perf_counter() - started)
