"""The login of a person: a token in a cookie that no script can read and no other site can send."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from anamnesis.hub.keys import PREFIX
from anamnesis.hub.refusal import NotAuthenticated
from anamnesis.hub.routes import Hub, address_of, body_of, hub_of, refuse_other_origins, stranger
from anamnesis.hub.ui.visit import COOKIE, LOGIN, rendered
from anamnesis.web.guard import PAGES
from anamnesis.web.ui.action import FormInput, fields_in, own_page

_SECONDS = 12 * 3600
_ASKED_FOR = "Your token of this hub (anh_…)"


async def show(request: Request) -> Response:
    return _page(request, "")


async def enter(request: Request) -> Response:
    """Log in. Failed attempts are limited by address."""
    refuse_other_origins(request)
    hub, somebody = hub_of(request), stranger(address_of(request))
    hub.limits.address.take(address_of(request))
    async with body_of(request, somebody) as body:
        given = FormInput({}, fields_in(body))
    token = given.text("token").strip()
    try:
        if not token.startswith(PREFIX):
            raise NotAuthenticated("That is not a token of this hub.")
        await hub.run(partial(_check, hub, token), somebody)
    except NotAuthenticated as error:
        hub.limits.failure.take(address_of(request))
        return _page(request, error.message)
    answer = RedirectResponse(f"{PAGES}/{own_page(given.text('to'))}", 303)
    is_secure = request.url.scheme == "https" or hub.url.startswith("https:")
    answer.set_cookie(COOKIE, token, max_age=_SECONDS, path=PAGES, httponly=True, samesite="strict", secure=is_secure)
    return answer


async def leave(request: Request) -> Response:
    refuse_other_origins(request)
    answer = RedirectResponse(LOGIN, 303)
    answer.delete_cookie(COOKIE, path=PAGES, httponly=True, samesite="strict")
    return answer


def _check(hub: Hub, token: str) -> None:
    with hub.database.entered(hub.key.hash(token)):
        pass


def _page(request: Request, fault: str) -> Response:
    data = {
        "fault": fault,
        "login": LOGIN,
        "asked_for": _ASKED_FOR,
        "to": f"{PAGES}/{own_page(request.query_params.get('to', ''))}",
    }
    return HTMLResponse(rendered("login.html", data), 401 if fault else 200)


ROUTES = [
    Route("/login", show, methods=["GET"]),
    Route("/login", enter, methods=["POST"]),
    Route("/logout", leave, methods=["POST"]),
]
