"""A view: a path, a function that reads the memory in a lane, and the template of its page. JSON is the same data."""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from anamnesis.errors import NoteNotFound
from anamnesis.notes import Memory, as_dict
from anamnesis.notes.foreign import origin_of, with_origins
from anamnesis.store import MemoryStore
from anamnesis.store.change_log import last_seq
from anamnesis.web.lanes import Lane, Lanes
from anamnesis.web.ui.background import Background
from anamnesis.web.ui.templating import render

if TYPE_CHECKING:
    from anamnesis.config import Settings
    from anamnesis.vault import Vault

Data = dict[str, Any]
_EXCERPT = 300


@dataclass(frozen=True, slots=True)
class Site:
    """What the pages work on. `form_token` is in every form; pages of other sites cannot read it."""

    open_vault: Callable[[], Vault]
    lanes: Lanes
    settings: Settings
    background: Background
    form_token: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    @property
    def vault(self) -> Vault:
        return self.open_vault()

    def moment(self) -> str:
        """The version of what pages show; changes with every note, step of a sync or result of a check."""
        return f"{last_change(self.vault.notes)}.{self.background.clock.ticks}"

    def sign(self, done: str, undo: str) -> str:
        """Signs the message of a form, so that a link of somebody else cannot forge it."""
        return hmac.new(self.form_token.encode(), f"{done}\0{undo}".encode(), "sha256").hexdigest()[:32]

    def frame(self, request: Request) -> Data:
        """The data of every page; `said` is the message of the last form, and what undoes it."""
        query = request.query_params
        done, undo = query.get("done", ""), query.get("undo", "")
        is_ours = hmac.compare_digest(query.get("sign", "").encode(), self.sign(done, undo).encode())
        said = {"done": done, "undo": undo} if is_ours else {}
        return {"asked": dict(query), "said": said, "here": request.url.path, "form_token": self.form_token}


class PageRequest(NamedTuple):
    """The request for a page: the names in its path, and its query."""

    path: Mapping[str, str]
    query: Mapping[str, str]


def summary(note: Memory) -> Data:
    """A note as lists show it: with the beginning of its text, and its origin if it is foreign."""
    origin = origin_of(note)
    return {**as_dict(note, body=False), "excerpt": note.body[:_EXCERPT]} | (origin.shown() if origin else {})


def summaries(store: MemoryStore, notes: Sequence[Memory]) -> list[Data]:
    """Notes as lists show them."""
    return [summary(note) for note in with_origins(notes, store.origins(notes))]


class View(NamedTuple):
    """A page. `read` runs in a thread of the lane, the template in a thread for short reads."""

    path: str
    template: str
    read: Callable[[Site, PageRequest], Data]
    lane: Lane = Lane.LIST
    # The slow part: a page loads it by a second request, its JSON contains it at once.
    later: Callable[[Site, PageRequest], Data] | None = None
    # What its page shows if the note does not exist, instead of the page for errors.
    missing: Callable[[PageRequest, str], Data] | None = None

    async def answer(self, site: Site, request: Request) -> Response:
        page_request = PageRequest(request.path_params, request.query_params)
        as_json = wants_json(request)

        def work() -> tuple[str, Data]:
            moment = site.moment()  # before reading, so that a change during the read counts as newer
            data = self.read(site, page_request)
            return moment, {**data, **self.later(site, page_request)} if self.later and as_json else data

        status = 200
        try:
            moment, data = await site.lanes.call(self.lane, work)
        except NoteNotFound as error:
            if self.missing is None or as_json:
                raise
            moment, data, status = "", self.missing(page_request, str(error)), 404
        if as_json:
            return Response(json.dumps(data, ensure_ascii=False), media_type="application/json")
        page = {**site.frame(request), "moment": moment}
        return HTMLResponse(await site.lanes.call(Lane.LIST, lambda: render(self.template, {**data, **page})), status)


def last_change(store: MemoryStore) -> int:
    """The number of the last change of a note."""
    return store._catalogue.ask(last_seq)


def wants_json(request: Request) -> bool:
    """Whether a client requests the data of a page instead of HTML; browsers do not."""
    accepted = request.headers.get("accept", "")
    return "application/json" in accepted and "text/html" not in accepted
