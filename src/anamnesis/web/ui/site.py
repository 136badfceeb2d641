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

from anamnesis.errors import AnamnesisError, InvalidArgument, InvalidNote, NoteNotFound
from anamnesis.web.mount import Application, Message, Receive, Send
from anamnesis.web.ui import changing, deciding, fleet, graph, home, note, notes, telling, timeline, upkeep
from anamnesis.web.ui.action import Action
from anamnesis.web.ui.background import Background
from anamnesis.web.ui.entering import Entrance
from anamnesis.web.ui.exporting import Export
from anamnesis.web.ui.live import Live
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
    *telling.VIEWS,
    *timeline.VIEWS,
    *deciding.VIEWS,
    *fleet.VIEWS,
    *graph.VIEWS,
    *upkeep.VIEWS,
)
ACTIONS = (*changing.ACTIONS, *deciding.ACTIONS, *fleet.ACTIONS, *upkeep.ACTIONS)
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
    export = Route("/notes/export", Export(site).answer, methods=["GET"])
    live = Route("/live", Live(site).answer, methods=["GET"])
    entrance = Entrance(settings.token)
    login = [Route("/login", entrance.show, methods=["GET"]), Route("/login", entrance.enter, methods=["POST"])]
    static = StaticFiles(directory=static_folder())
    return Starlette(
        routes=[export, *views, *actions, live, *login, Mount("/static", static)],
        middleware=[Middleware(Headers), Middleware(GZipMiddleware, minimum_size=_COMPRESSED_FROM)],
        exception_handlers=dict[Any, Any]([(HTTPException, _refused), (AnamnesisError, _failed), (Exception, _broken)]),
    )


def static_folder() -> Path:
    """Where the stylesheet and the scripts are."""
    return Path(__file__).with_name("static")


async def _answer(page: View | Action, site: Site, request: Request) -> Response:
    return await page.answer(site, request)


async def _refused(request: Request, error: HTTPException) -> Response:
    if error.status_code == 404:
        return _error_page(request, 404, "There is no such page.", "The navigation has all of them.")
    return _error_page(request, error.status_code, error.detail, "")


async def _failed(request: Request, error: AnamnesisError) -> Response:
    return _error_page(request, _status(error), error.message, error.hint or "")


async def _broken(request: Request, _error: Exception) -> Response:
    """The page for a defect; the server logs its trace."""
    return _error_page(request, 500, "Something went wrong inside.", "The log under ANAMNESIS_HOME says what.")


def _status(error: AnamnesisError) -> int:
    if isinstance(error, NoteNotFound):
        return 404
    return 400 if isinstance(error, InvalidArgument | InvalidNote) else 503


def _error_page(request: Request, status: int, message: str, hint: str) -> Response:
    if wants_json(request):
        return JSONResponse({"error": message, "hint": hint}, status)
    page = {"message": message, "hint": hint, "status": status, "asked": {}, "said": {}, "here": request.url.path}
    return HTMLResponse(render("error.html", page), status)


class Headers:
    """Adds the headers that keep pages to themselves. Browsers keep static files, and ask whether they have changed."""

    def __init__(self, app: Application) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        # Before the routes change the root of the scope.
        is_static = scope["type"] == "http" and scope["path"].startswith(f"{scope['root_path']}/static/")
        kept = (b"cache-control", b"no-cache" if is_static else b"no-store")

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS, kept]
            await send(message)

        await self._app(scope, receive, with_headers)
