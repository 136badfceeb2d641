"""Server-sent events: every open page is notified of changes within a second, whoever made them."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import suppress

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from anamnesis.errors import AnamnesisError
from anamnesis.web.lanes import Lane
from anamnesis.web.ui.view import Site

_LOOK_SECONDS = 0.5
# The interval of comments that keep the connection open and detect a closed one.
_ALIVE_SECONDS = 15.0


class LiveEvents:
    """The state that pages show, polled once for all pages, and only while one is open."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._last = ""
        self._pages = 0
        self._looking: asyncio.Task[None] | None = None

    async def answer(self, request: Request) -> Response:
        """A stream of the changes after the last one that the page has seen, until the page is closed."""
        seen = request.headers.get("last-event-id") or request.query_params.get("seen", "")
        return StreamingResponse(self._events(seen), media_type="text/event-stream")

    async def _events(self, seen: str) -> AsyncIterator[str]:
        self._pages += 1
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        try:
            quiet = 0.0
            yield "retry: 2000\n\n"
            while True:
                await asyncio.sleep(_LOOK_SECONDS)
                quiet += _LOOK_SECONDS
                if self._last not in ("", seen):
                    seen, quiet = self._last, 0.0
                    yield f"event: notes\nid: {seen}\ndata: {seen}\n\n"
                elif quiet >= _ALIVE_SECONDS:
                    quiet = 0.0
                    yield ": alive\n\n"
        finally:
            self._pages -= 1

    async def _look(self) -> None:
        while self._pages:
            with suppress(AnamnesisError, sqlite3.Error):  # for instance while the index is rebuilt; try again
                self._last = await self._site.lanes.call(Lane.LIST, self._site.moment)
            await asyncio.sleep(_LOOK_SECONDS)
