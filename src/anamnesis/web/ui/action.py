"""An action: what a form does. It runs in the writer's thread, and answers with the page to show next."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import parse_qs, urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from anamnesis.errors import AnamnesisError, NoteConflict
from anamnesis.web.guard import PAGES
from anamnesis.web.lanes import Lane
from anamnesis.web.ui.templating import render
from anamnesis.web.ui.view import Data, Site, wants_json

_TOKEN = "form_token"  # noqa: S105  the name of a field
_MOST_FIELDS = 2_000
_OUTDATED = "This form is from before the daemon was restarted."


Fields = Mapping[str, list[str]]


class FormInput(NamedTuple):
    """The input of a form: the names in its path, and its fields."""

    path: Mapping[str, str]
    fields: Fields

    def text(self, name: str) -> str:
        return self.texts(name)[0] if name in self.fields else ""

    def texts(self, name: str) -> list[str]:
        return self.fields.get(name, [])

    def check_seen(self, *texts: str) -> None:
        """Refuse a decision about other texts than those that the form's page has shown."""
        if self.text("seen") not in ("", seen(*texts)):
            raise NoteConflict("This has changed since you saw it, so nothing was done.", "Load the page again.")


def seen(*texts: str) -> str:
    """What a form carries of the texts that its page shows."""
    return sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()[:32]


async def fields_of(request: Request) -> Fields:
    """The fields of a form; the server limits the length of its body."""
    return fields_in(await request.body())


def fields_in(body: bytes) -> Fields:
    try:
        return parse_qs(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError as error:
        raise HTTPException(400, "The body is not the content of a form.") from error


def own_page(address: str) -> str:
    """The part after /ui/ of the address of a dashboard page; "" for any other address."""
    is_ours = address.startswith(f"{PAGES}/") and "//" not in address and "\\" not in address and address.isprintable()
    return address.removeprefix(f"{PAGES}/").rstrip("?") if is_ours else ""


class NextPage(NamedTuple):
    """The dashboard page to go to, and the message that it shows; `undo` names the change that can be undone."""

    page: str
    done: str = ""
    undo: str = ""

    def address(self, site: Site) -> str:
        message = {"done": self.done, "undo": self.undo, "sign": site.sign(self.done, self.undo)} if self.done else {}
        joint = "&" if "?" in self.page else "?"
        return f"{PAGES}/{self.page}{joint + urlencode(message) if message else ''}"


class ShownPage(NamedTuple):
    """A page to show instead, for instance because the user has to decide first."""

    template: str
    data: Data
    status: int = 200


class Action(NamedTuple):
    """The form at a path, and its function."""

    path: str
    do: Callable[[Site, FormInput], NextPage | ShownPage]
    lane: Lane = Lane.WRITE
    # Shows the form again, with the typed values and the reason for the refusal.
    again: Callable[[FormInput, str], ShownPage] | None = None

    async def answer(self, site: Site, request: Request) -> Response:
        form = FormInput(request.path_params, await fields_of(request))
        found = await self._result(site, form)
        if isinstance(found, NextPage):
            address = found.address(site)
            if wants_json(request):
                return JSONResponse({"page": address, "done": found.done, "undo": found.undo})
            return RedirectResponse(address, 303)
        return HTMLResponse(render(found.template, {**found.data, **site.frame(request)}), found.status)

    async def _result(self, site: Site, form: FormInput) -> NextPage | ShownPage:
        if not hmac.compare_digest(form.text(_TOKEN).encode(), site.form_token.encode()):
            if self.again is None:
                raise HTTPException(403, f"{_OUTDATED} Load its page again.")
            return self.again(form, f"{_OUTDATED} Save it again.")._replace(status=403)
        try:
            return await site.lanes.call(self.lane, lambda: self.do(site, form))
        except AnamnesisError as error:
            if self.again is None:
                raise
            return self.again(form, str(error))
