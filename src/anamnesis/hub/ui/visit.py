"""A visit: one request for a page, in the transaction of whoever is logged in."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from anamnesis.hub.database import Connection
from anamnesis.hub.keys import Key
from anamnesis.hub.refusal import NotAllowed, NotAuthenticated
from anamnesis.hub.routes import (
    Hub,
    address_of,
    admitted,
    admitted_by,
    bearer_of,
    body_of,
    hub_of,
    refuse_other_origins,
)
from anamnesis.hub.store import HubStore
from anamnesis.hub.tenancy import Caller
from anamnesis.web.guard import PAGES
from anamnesis.web.ui.action import Fields, FormInput, fields_in
from anamnesis.web.ui.templating import environment
from anamnesis.web.ui.view import wants_json

COOKIE = "anamnesis_hub"
LOGIN = f"{PAGES}/login"
_TEMPLATES = Path(__file__).with_name("templates")
_FORM_TOKEN = "form_token"  # noqa: S105  the name of a field

Data = dict[str, Any]


@dataclass(frozen=True)
class Visit:
    """One request of a logged-in user, in its transaction."""

    hub: Hub
    db: Connection
    caller: Caller
    path: Mapping[str, str]
    query: Mapping[str, str]

    @cached_property
    def store(self) -> HubStore:
        return HubStore(self.db, self.caller)

    @property
    def moment(self) -> str:
        """A text that changes whenever a note of the caller's spaces does."""
        return ".".join(f"{held.id}-{held.seq}" for held in self.caller.spaces.values())


class Page(NamedTuple):
    """A page that reads. Its JSON is what `read` returns."""

    path: str
    template: str
    read: Callable[[Visit], Data]

    async def answer(self, request: Request) -> Response:
        hub = hub_of(request)
        token, member = await logged_in(request)
        moment, user, data = await hub.run(partial(self._read, hub, token, request), member)
        if wants_json(request):
            return JSONResponse(data)
        page = {
            "asked": dict(request.query_params),
            "here": request.url.path,
            "form_token": form_token_of(hub.key, token),
            "said": _said(hub.key, token, request.query_params),
            "moment": moment,
            "user": user,
        }
        return HTMLResponse(rendered(self.template, {**data, **page}))

    def _read(self, hub: Hub, token: bytes, request: Request) -> tuple[str, str, Data]:
        with hub.database.entered(token) as (db, caller):
            visit = Visit(hub, db, caller, request.path_params, request.query_params)
            return visit.moment, caller.name, self.read(visit)


class Next(NamedTuple):
    """The page to go to, under the dashboard, and what it says was done."""

    page: str
    done: str

    def address(self, key: Key, token: bytes) -> str:
        joint = "&" if "?" in self.page else "?"
        said = {"done": self.done, "sign": _sign(key, token, self.done)}
        return f"{PAGES}/{self.page}{joint}{urlencode(said)}"


class Form(NamedTuple):
    """What a form does. A browser proves with a token in it that the page was ours."""

    path: str
    do: Callable[[Visit, FormInput], Next]

    async def answer(self, request: Request) -> Response:
        refuse_other_origins(request)
        hub = hub_of(request)
        token, member = await logged_in(request)
        async with body_of(request, member) as body:
            fields = fields_in(body)
        given = FormInput(request.path_params, fields)
        if not bearer_of(request):
            wanted = form_token_of(hub.key, token)
            if not hmac.compare_digest(given.text(_FORM_TOKEN).encode(), wanted.encode()):
                raise NotAllowed("This form is from another login: load its page again.")
        found = await hub.run(partial(self._do, hub, token, request, fields), member)
        if wants_json(request):
            return JSONResponse({"page": found.address(hub.key, token), "done": found.done})
        return RedirectResponse(found.address(hub.key, token), 303)

    def _do(self, hub: Hub, token: bytes, request: Request, fields: Fields) -> Next:
        with hub.database.entered(token) as (db, caller):
            visit = Visit(hub, db, caller, request.path_params, request.query_params)
            return self.do(visit, FormInput(request.path_params, fields))


def rendered(template: str, data: Mapping[str, Any]) -> str:
    return environment(_TEMPLATES).get_template(template).render(data)


def form_token_of(key: Key, token: bytes) -> str:
    """The token that the forms of a login carry. Every server can compute it, and a page of another site cannot."""
    return key.hash(f"form {token.hex()}").hex()


def _sign(key: Key, token: bytes, done: str) -> str:
    """Signs the message of a page, so that a link from somebody else cannot forge one."""
    return key.hash(f"done {token.hex()} {done}").hex()


def _said(key: Key, token: bytes, query: Mapping[str, str]) -> dict[str, str]:
    done = query.get("done", "")
    is_ours = hmac.compare_digest(query.get("sign", "").encode(), _sign(key, token, done).encode())
    return {"done": done, "undo": ""} if is_ours else {}


async def logged_in(request: Request) -> tuple[bytes, str]:
    """The hash of the token of a request, from its header or from the cookie of a login, and whose it is."""
    if bearer_of(request):
        return await admitted(request)
    hub, address = hub_of(request), address_of(request)
    hub.limits.address.take(address)
    cookie = request.cookies.get(COOKIE, "")
    if not cookie:
        raise NotAuthenticated("Log in first.", f"The page is {LOGIN}.")
    token = hub.key.hash(cookie)
    return token, await admitted_by(hub, token, address)
