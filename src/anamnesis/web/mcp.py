"""MCP at `/mcp`: Engram's tools, over HTTP."""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager

from anamnesis.web.message import JSON, Request, Response
from anamnesis.web.route import Lane, Route


def routes(
    database: Callable[[], AbstractContextManager[sqlite3.Connection]], report: Callable[[str], None]
) -> list[Route]:
    """The route, whose tools are made at the first request: most daemons never get one."""

    @functools.cache
    def build() -> Callable[[Request], Response]:
        from anamnesis.mcp.engram import build_server
        from anamnesis.mcp.engram.tool import Memory
        from anamnesis.mcp.http import respond

        server = build_server(Memory(database))

        def reply(request: Request) -> Response:
            given = respond(server, request.method, request.headers, request.body, report)
            headers = dict(given.headers)
            type = headers.pop("content-type", "")
            return Response(given.status, given.body, type, tuple(headers.items()))

        return reply

    def speak_mcp(request: Request, db: sqlite3.Connection) -> Response:
        """Answer an MCP message."""
        return build()(request)

    return [Route("POST", "/mcp", speak_mcp, Lane.LONG, {200: JSON})]
