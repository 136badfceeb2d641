"""MCP at `/mcp`, over HTTP."""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING

from anamnesis.web.message import JSON, Request, Response
from anamnesis.web.route import BodyLimit, Lane, Route

if TYPE_CHECKING:
    from anamnesis.mcp.dispatcher import Server

# Notes may be long, and a message may carry several.
_LIMIT = BodyLimit(16 << 20)


def routes(build_server: Callable[[], Server], report: Callable[[str], None]) -> list[Route]:
    """The route, whose server is made at the first request: most daemons never get one."""

    @functools.cache
    def build() -> Callable[[Request], Response]:
        from anamnesis.mcp.http import respond

        server = build_server()

        def reply(request: Request) -> Response:
            given = respond(server, request.method, request.headers.pairs, request.body, report)
            headers = dict(given.headers)
            type = headers.pop("content-type", "")
            return Response(given.status, given.body, type, tuple(headers.items()))

        return reply

    def speak_mcp(request: Request, db: sqlite3.Connection) -> Response:
        """Answer an MCP message."""
        return build()(request)

    return [Route("POST", "/mcp", speak_mcp, Lane.LONG, {200: JSON}, limit=_LIMIT)]
