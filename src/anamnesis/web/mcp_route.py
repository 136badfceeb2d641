"""MCP at `/mcp`, over HTTP. Each message runs in the lane for its kind of work."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

from anamnesis.web.lanes import Lane, Lanes
from anamnesis.web.message import JSON, Request, Response
from anamnesis.web.route import BodyLimit, Route

if TYPE_CHECKING:
    from anamnesis.mcp.dispatcher import McpServer, Message
    from anamnesis.mcp.http import Reply

# Notes may be long, and a message may carry several.
_LIMIT = BodyLimit(16 << 20)


def routes(build_server: Callable[[], McpServer], lanes: Lanes, report: Callable[[str], None]) -> list[Route]:
    """The route. Its server is built at the first request, as most daemons never get one."""
    building = asyncio.Lock()
    built: list[McpServer] = []

    async def server() -> McpServer:
        async with building:
            if not built:
                # Waits until the notes are open, which can take long if their index has to be built.
                built.append(await lanes.call(Lane.GIT, build_server))
            return built[0]

    async def speak_mcp(request: Request, db: None) -> Response:
        """Answer an MCP message or a batch."""
        mcp_server = await server()
        from anamnesis.mcp.dispatcher import joined, unbatched
        from anamnesis.mcp.http import Reply, receive, reply

        received = receive(request.method, request.headers.pairs, request.body)
        if isinstance(received, Reply):
            return _response(received)
        in_session = functools.partial(_answer_in_session, received.session, mcp_server, report)
        answers = [await _answer(mcp_server, message, lanes, in_session) for message in unbatched(received.message)]
        return _response(reply(received, joined(received.message, answers)))

    return [Route("POST", "/mcp", speak_mcp, Lane.TASK, {200: JSON}, limit=_LIMIT, uses_engram=False)]


async def _answer(
    server: McpServer, message: object, lanes: Lanes, in_session: Callable[[object], Message | None]
) -> Message | None:
    from anamnesis.mcp.dispatcher import Work

    answer = functools.partial(in_session, message)
    work = server.work(message)
    lane = {Work.READ: Lane.SEARCH, Work.WRITE: Lane.WRITE, Work.GIT: Lane.GIT, Work.NETWORK: Lane.NETWORK}.get(work)
    return await lanes.call(lane, answer) if lane else answer()


def _answer_in_session(
    session: str, server: McpServer, report: Callable[[str], None], message: object
) -> Message | None:
    """The answer to a message of a session, in the thread that works on it."""
    from anamnesis.mcp.dispatcher import answer_one_safely
    from anamnesis.mcp.session import speaking

    with speaking(session):
        return answer_one_safely(server, message, report)


def _response(reply: Reply) -> Response:
    headers = dict(reply.headers)
    type = headers.pop("content-type", "")
    return Response(reply.status, reply.body, type, tuple(headers.items()))
