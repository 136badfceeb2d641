"""The dashboard as a Starlette application: its routes, its headers, and its pages for errors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from anamnesis.errors import AnamnesisError, InvalidArgument, InvalidNote, NoteConflict, NoteNotFound, explained
from anamnesis.web.mount import Application, Message, Receive, Send
from anamnesis.web.ui import changing, context, fleet, graph, home, note, notes, review, timeline, upkeep
from anamnesis.web.ui.action import Action
from anamnesis.web.ui.background import Background
from anamnesis.web.ui.exporting import NoteExport
from anamnesis.web.ui.live import LiveEvents
from anamnesis.web.ui.login_page import LoginPage
from anamnesis.web.ui.templating import render
from anamnesis.web.ui.view import Site, View, wants_json

if TYPE_CHECKING:
    from anamnesis.config import Settings
    from anamnesis.vault import Vault
    from anamnesis.web.lanes import Lanes

# The first that matches a path answers, so `/notes/new` comes before `/notes/{id}`.
VIEWS = (
    *home.VIEWS,
    *notes.VIEWS,
    *changing.VIEWS,
    *note.VIEWS,
    *context.VIEWS,
    *timeline.VIEWS,
    *review.VIEWS,
    *fleet.VIEWS,
    *graph.VIEWS,
    *upkeep.VIEWS,
)
ACTIONS = (*changing.ACTIONS, *review.ACTIONS, *fleet.ACTIONS, *upkeep.ACTIONS)
_POLICY = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
_HEADERS = [
    (b"content-security-policy", _POLICY.encode()),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"referrer-policy", b"same-origin"),
]
_COMPRESSED_FROM = 1_000


def build_site(open_vault: Callable[[], Vault], lanes: Lanes, settings: Settings) -> Application:
    """The application on the vault of a daemon."""
    site = Site(open_vault, lanes, settings, Background(settings))
    views = [Route(view.path, partial(_answer, view, site), methods=["GET"]) for view in VIEWS]
    actions = [Route(action.path, partial(_answer, action, site), methods=["POST"]) for action in ACTIONS]
    export = Route("/notes/export", NoteExport(site).answer, methods=["GET"])
    live = Route("/live", LiveEvents(site).answer, methods=["GET"])
    login_page = LoginPage(settings.token)
    login = [Route("/login", login_page.show, methods=["GET"]), Route("/login", login_page.enter, methods=["POST"])]
    static = StaticFiles(directory=static_folder())
    return Starlette(
        routes=[export, *views, *actions, live, *login, Mount("/static", static)],
        middleware=[Middleware(PageHeaders), Middleware(GZipMiddleware, minimum_size=_COMPRESSED_FROM)],
        exception_handlers=dict[Any, Any](
            [(HTTPException, _refused), (AnamnesisError, _failed), (OSError, _unusable), (Exception, _broken)]
        ),
    )


def static_folder() -> Path:
    """The folder of the stylesheet and the scripts."""
    return Path(__file__).with_name("static")


async def _answer(page: View | Action, site: Site, request: Request) -> Response:
    return await page.answer(site, request)


async def _refused(request: Request, error: HTTPException) -> Response:
    if error.status_code == 404:
        return _error_page(request, 404, "There is no such page.", "The navigation lists all pages.")
    return _error_page(request, error.status_code, error.detail, "")


async def _failed(request: Request, error: AnamnesisError) -> Response:
    return _error_page(request, _status(error), error.message, error.hint or "")


async def _unusable(request: Request, error: OSError) -> Response:
    return await _failed(request, explained(error))


async def _broken(request: Request, _error: Exception) -> Response:
    """The page for an unexpected error; the server logs its traceback."""
    return _error_page(request, 500, "An internal error occurred.", "See the log under ANAMNESIS_HOME.")


def _status(error: AnamnesisError) -> int:
    if isinstance(error, NoteNotFound):
        return 404
    if isinstance(error, NoteConflict):
        return 409
    return 400 if isinstance(error, InvalidArgument | InvalidNote) else 503


def _error_page(request: Request, status: int, message: str, hint: str) -> Response:
    if wants_json(request):
        return JSONResponse({"error": message, "hint": hint}, status)
    page = {"message": message, "hint": hint, "status": status, "asked": {}, "said": {}, "here": request.url.path}
    return HTMLResponse(render("error.html", page), status)


class PageHeaders:
    """Adds security and caching headers. Browsers cache static files, and revalidate them."""

    def __init__(self, app: Application) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        # Computed before the routes change the root of the scope.
        is_static = scope["type"] == "http" and scope["path"].startswith(f"{scope['root_path']}/static/")
        caching = (b"cache-control", b"no-cache" if is_static else b"no-store")

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS, caching]
            await send(message)

        await self._app(scope, receive, with_headers)
