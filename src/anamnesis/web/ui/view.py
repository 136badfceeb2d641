"""A view: a path, a function that reads the memory in a lane, and the template of its page. JSON is the same data."""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from anamnesis.notes import Memory, as_dict
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
    """What the pages work on. `form_token` is in every form: a page of another site cannot read it."""

    open_vault: Callable[[], Vault]
    lanes: Lanes
    settings: Settings
    background: Background
    form_token: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    @property
    def vault(self) -> Vault:
        return self.open_vault()

    def moment(self) -> str:
        """Names what pages show now: another text as soon as a note, a sync or the result of a check changes."""
        return f"{last_change(self.vault.notes)}.{self.background.clock.ticks}"

    def sign(self, done: str, undo: str) -> str:
        """Proves that what a page says was done is from here, and not from a link of somebody else."""
        return hmac.new(self.form_token.encode(), f"{done}\0{undo}".encode(), "sha256").hexdigest()[:32]

    def frame(self, request: Request) -> Data:
        """What every page gets besides its data; `said` is what the last form did, and what undoes it."""
        query = request.query_params
        done, undo = query.get("done", ""), query.get("undo", "")
        is_ours = hmac.compare_digest(query.get("sign", "").encode(), self.sign(done, undo).encode())
        said = {"done": done, "undo": undo} if is_ours else {}
        return {"asked": dict(query), "said": said, "here": request.url.path, "form_token": self.form_token}


class Asked(NamedTuple):
    """What a page was asked for: the names in its path, and its query."""

    path: Mapping[str, str]
    query: Mapping[str, str]


def summary(note: Memory) -> Data:
    """A note as lists show it: with the beginning of its text."""
    return {**as_dict(note, body=False), "excerpt": note.body[:_EXCERPT]}


class View(NamedTuple):
    """A page that reads: `read` runs in a thread of the lane, the template in one of the lists, which are short."""

    path: str
    template: str
    read: Callable[[Site, Asked], Data]
    lane: Lane = Lane.LIST
    # What takes longer than the rest: the page asks for it by a second request, its JSON has it at once.
    later: Callable[[Site, Asked], Data] | None = None

    async def answer(self, site: Site, request: Request) -> Response:
        asked = Asked(request.path_params, request.query_params)
        as_json = wants_json(request)

        def work() -> tuple[str, Data]:
            moment = site.moment()  # before reading: what changes meanwhile is another change
            data = self.read(site, asked)
            return moment, {**data, **self.later(site, asked)} if self.later and as_json else data

        moment, data = await site.lanes.call(self.lane, work)
        if as_json:
            return Response(json.dumps(data, ensure_ascii=False), media_type="application/json")
        page = {**site.frame(request), "moment": moment}
        return HTMLResponse(await site.lanes.call(Lane.LIST, lambda: render(self.template, {**data, **page})))


def last_change(store: MemoryStore) -> int:
    """The number of the last change of a note."""
    return store._catalogue.ask(last_seq)


def wants_json(request: Request) -> bool:
    """Whether a client asks for the data of a page instead of the page; browsers do not."""
    accepted = request.headers.get("accept", "")
    return "application/json" in accepted and "text/html" not in accepted
