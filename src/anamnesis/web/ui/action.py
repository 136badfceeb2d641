"""An action: what a form does. It runs in the thread of the one writer, and answers with the page to show next."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from typing import NamedTuple
from urllib.parse import parse_qs, urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from anamnesis.errors import AnamnesisError
from anamnesis.web.guard import PAGES
from anamnesis.web.lanes import Lane
from anamnesis.web.ui.templating import render
from anamnesis.web.ui.view import Data, Site, wants_json

_TOKEN = "form_token"  # noqa: S105  the name of a field
_MOST_FIELDS = 2_000
_OUTDATED = "This form is from before the daemon was restarted."


Fields = Mapping[str, list[str]]


class Given(NamedTuple):
    """What a form sends: the names in its path, and its fields."""

    path: Mapping[str, str]
    fields: Fields

    def text(self, name: str) -> str:
        return self.texts(name)[0] if name in self.fields else ""

    def texts(self, name: str) -> list[str]:
        return self.fields.get(name, [])


async def fields_of(request: Request) -> Fields:
    """The fields of a form; the server limits the length of its body."""
    return fields_in(await request.body())


def fields_in(body: bytes) -> Fields:
    try:
        return parse_qs(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError as error:
        raise HTTPException(400, "This is not the content of a form.") from error


def own_page(address: str) -> str:
    """What follows /ui/ in the address of a page of the dashboard; "" for any other address."""
    is_ours = address.startswith(f"{PAGES}/") and "//" not in address and "\\" not in address and address.isprintable()
    return address.removeprefix(f"{PAGES}/").rstrip("?") if is_ours else ""


class Next(NamedTuple):
    """The page to go to, under the dashboard, and what it says was done; `undo` names the change that can be undone."""

    page: str
    done: str = ""
    undo: str = ""

    def address(self, site: Site) -> str:
        said = {"done": self.done, "undo": self.undo, "sign": site.sign(self.done, self.undo)} if self.done else {}
        joint = "&" if "?" in self.page else "?"
        return f"{PAGES}/{self.page}{joint + urlencode(said) if said else ''}"


class Shown(NamedTuple):
    """A page to show instead, for instance because something has to be decided first."""

    template: str
    data: Data
    status: int = 200


class Action(NamedTuple):
    """What the form at a path does."""

    path: str
    do: Callable[[Site, Given], Next | Shown]
    lane: Lane = Lane.WRITE
    # The form again, with what was typed, and with why it was refused.
    again: Callable[[Given, str], Shown] | None = None

    async def answer(self, site: Site, request: Request) -> Response:
        given = Given(request.path_params, await fields_of(request))
        found = await self._found(site, given)
        if isinstance(found, Next):
            address = found.address(site)
            if wants_json(request):
                return JSONResponse({"page": address, "done": found.done, "undo": found.undo})
            return RedirectResponse(address, 303)
        return HTMLResponse(render(found.template, {**found.data, **site.frame(request)}), found.status)

    async def _found(self, site: Site, given: Given) -> Next | Shown:
        if not hmac.compare_digest(given.text(_TOKEN).encode(), site.form_token.encode()):
            if self.again is None:
                raise HTTPException(403, f"{_OUTDATED} Load its page again.")
            return self.again(given, f"{_OUTDATED} Save it again.")._replace(status=403)
        try:
            return await site.lanes.call(self.lane, lambda: self.do(site, given))
        except AnamnesisError as error:
            if self.again is None:
                raise
            return self.again(given, str(error))
