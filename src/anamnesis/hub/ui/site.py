"""The hub's dashboard as a Starlette application: its routes, its headers, and its pages for errors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from anamnesis.errors import AnamnesisError
from anamnesis.hub.refusal import NotAuthenticated, TooMany, status_of
from anamnesis.hub.routes import hub_of
from anamnesis.hub.ui import entering, keeping, reading
from anamnesis.hub.ui.visit import COOKIE, LOGIN, Visit, logged_in, rendered
from anamnesis.web.ui.site import PageHeaders, static_folder
from anamnesis.web.ui.view import wants_json

if TYPE_CHECKING:
    from anamnesis.hub.routes import Hub

_HEARTBEAT_SECONDS = 20.0
_SEND_AGAIN = "Log in in another tab, then reload this page: the browser sends your form again."


def build_site(hub: Hub) -> Starlette:
    pages = [Route(page.path, page.answer, methods=["GET"]) for page in (*reading.PAGES, *keeping.PAGES)]
    forms = [Route(form.path, form.answer, methods=["POST"]) for form in (*reading.FORMS, *keeping.FORMS)]
    live = Route("/live", follow, methods=["GET"])
    static = Mount("/static", StaticFiles(directory=static_folder()))
    site = Starlette(
        routes=[*entering.ROUTES, live, *pages, *forms, static],
        middleware=[Middleware(PageHeaders)],
        exception_handlers=dict[Any, Any](
            [(AnamnesisError, _refused), (HTTPException, _refused_http), (Exception, _broken)]
        ),
    )
    site.state.hub = hub
    return site


async def follow(request: Request) -> Response:
    """Server-sent events that a note of the caller's spaces has changed since the page was made."""
    hub = hub_of(request)
    token, member = await logged_in(request)

    def moment() -> str:
        with hub.database.entered(token) as (db, caller):
            return Visit(hub, db, caller, {}, {}).moment

    now = await hub.run(moment, member)
    hub.live.check(member)

    async def events() -> AsyncIterator[str]:
        seen = request.query_params.get("seen", now)
        with suppress(AnamnesisError), hub.live.following(member) as client:
            while not client.ended:
                current = await hub.run(moment, member)
                if current != seen:
                    seen = current
                    yield "event: notes\ndata: {}\n\n"
                changed = await client.changes(_HEARTBEAT_SECONDS)
                if not changed:
                    yield ": still here\n\n"
                else:
                    await asyncio.sleep(0.2)  # debounce

    return StreamingResponse(events(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


async def _refused(request: Request, error: AnamnesisError) -> Response:
    if isinstance(error, NotAuthenticated) and request.method == "GET" and not wants_json(request):
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        answer = RedirectResponse(f"{LOGIN}?{urlencode({'to': path})}", 303)
        if COOKIE in request.cookies:
            answer.delete_cookie(COOKIE, path=request.scope["root_path"])
        return answer
    message, hint = error.message, error.hint or ""
    if isinstance(error, NotAuthenticated) and request.method == "POST" and not wants_json(request):
        message, hint = "Your login has ended, so nothing was saved.", _SEND_AGAIN
    found = _error_page(request, status_of(error), message, hint)
    if isinstance(error, TooMany):
        found.headers["Retry-After"] = str(error.seconds)
    return found


async def _refused_http(request: Request, error: HTTPException) -> Response:
    message = "There is no such page." if error.status_code == 404 else str(error.detail)
    return _error_page(request, error.status_code, message, "")


async def _broken(request: Request, _error: Exception) -> Response:
    """The page for an unexpected error; the server logs its traceback."""
    return _error_page(request, 500, "The hub failed at this request.", "Its log says more.")


def _error_page(request: Request, status: int, message: str, hint: str) -> Response:
    if wants_json(request):
        return JSONResponse({"error": message, "hint": hint}, status)
    data = {"message": message, "hint": hint, "asked": {}, "here": request.url.path, "form_token": "", "said": {}}
    return HTMLResponse(rendered("hub/error.html", data), status)
