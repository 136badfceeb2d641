"""The page that asks for the daemon's token, where it has one. Wrong guesses make everybody wait."""

from __future__ import annotations

import asyncio
import hmac
import time

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from anamnesis.web import login
from anamnesis.web.guard import LOGIN, PAGES
from anamnesis.web.ui.action import Given, fields_of
from anamnesis.web.ui.templating import render

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0


class Entrance:
    """Asks for a token. After each wrong guess the next answer takes twice as long; a right one ends that."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._wait = 0.0
        self._guessing = asyncio.Lock()

    async def show(self, request: Request) -> Response:
        return self._page(request, "")

    async def enter(self, request: Request) -> Response:
        given = Given({}, await fields_of(request)).text("token")
        async with self._guessing:  # guesses are answered one after the other
            await asyncio.sleep(self._wait)
            if not self._token or not hmac.compare_digest(given.encode(), self._token.encode()):
                self._wait = min(_LONGEST_WAIT, max(_FIRST_WAIT, 2 * self._wait))
                return self._page(request, "That is not the token of this daemon.")
            self._wait = 0.0
        answer = RedirectResponse(f"{PAGES}/", 303)
        value = login.signed(self._token, int(time.time()) + login.SECONDS)
        answer.set_cookie(login.COOKIE, value, max_age=login.SECONDS, path=PAGES, httponly=True, samesite="strict")
        return answer

    def _page(self, request: Request, fault: str) -> Response:
        data = {"fault": fault, "asked": {}, "here": request.url.path, "login": LOGIN}
        return HTMLResponse(render("login.html", data), 401 if fault else 200)
