"""The page that asks for the daemon's token, if it has one. A wrong guess delays its client."""

from __future__ import annotations

import asyncio
import hmac
import time

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from anamnesis.web import login_cookie
from anamnesis.web.guard import LOGIN, PAGES
from anamnesis.web.ui.action import FormInput, fields_of, own_page
from anamnesis.web.ui.templating import render

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0
# The most waiting guesses of a client, and the most clients that are distinguished; all others share one delay.
_MOST_WAITING = 4
_MOST_CLIENTS = 1_000


class _Client:
    """The guesses of a client, one at a time. Each wrong one doubles the delay of the next."""

    def __init__(self) -> None:
        self.wait = 0.0
        self.waiting = 0
        self._turn = asyncio.Lock()

    async def guess(self, guessed: str, token: str) -> bool:
        self.waiting += 1
        try:
            async with self._turn:
                await asyncio.sleep(self.wait)
                is_right = bool(token) and hmac.compare_digest(guessed.encode(), token.encode())
                self.wait = 0.0 if is_right else min(_LONGEST_WAIT, max(_FIRST_WAIT, 2 * self.wait))
                return is_right
        finally:
            self.waiting -= 1


class LoginPage:
    """Asks for a token, and sets a cookie for it."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._clients: dict[str, _Client] = {}

    async def show(self, request: Request) -> Response:
        to = own_page(request.query_params.get("to", ""))
        if not self._token or login_cookie.is_valid(self._token, request.headers.get("cookie", "")):
            return RedirectResponse(f"{PAGES}/{to}", 303)
        return self._page(request, to)

    async def enter(self, request: Request) -> Response:
        form = FormInput({}, await fields_of(request))
        to, client = own_page(form.text("to")), self._client(request)
        if client.waiting >= _MOST_WAITING:
            return self._page(request, to, "Too many wrong tokens. Wait a minute.", 429)
        if not await client.guess(form.text("token"), self._token):
            return self._page(request, to, "That is not the token of this daemon.", 401)
        answer = RedirectResponse(f"{PAGES}/{to}", 303)
        value = login_cookie.signed(self._token, int(time.time()) + login_cookie.SECONDS)
        answer.set_cookie(
            login_cookie.COOKIE, value, max_age=login_cookie.SECONDS, path=PAGES, httponly=True, samesite="strict"
        )
        return answer

    def _client(self, request: Request) -> _Client:
        name = request.client.host if request.client else ""
        if name not in self._clients and len(self._clients) >= _MOST_CLIENTS:
            name = ""
        return self._clients.setdefault(name, _Client())

    def _page(self, request: Request, to: str, fault: str = "", status: int = 200) -> Response:
        data = {"fault": fault, "to": f"{PAGES}/{to}", "login": LOGIN}
        return HTMLResponse(render("login.html", data), status)
