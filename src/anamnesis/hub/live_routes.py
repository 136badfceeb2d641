"""Server-sent events: `GET /v1/live` says of which of the caller's spaces the sequence has moved."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from functools import partial

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from anamnesis.errors import AnamnesisError
from anamnesis.hub.database import Entering
from anamnesis.hub.live import Subscription
from anamnesis.hub.routes import Hub, admitted, hub_of
from anamnesis.hub.tenancy import Caller

# How often the stream sends a comment, so that proxies keep it open, and checks the token again.
_HEARTBEAT_SECONDS = 20.0


async def follow(request: Request) -> Response:
    """Server-sent events about the spaces that the token may see, at first one for each, then one for each change.

    `change` has the new sequence of a space, `gone` a space that cannot be seen any more, `end` an error, such as a
    revoked token. Events say that there is something to get, and may be late: POST /v1/sync has the truth.

    Answer: `change` with {"space", "seq"}, `gone` with {"space"}, `end` with {"error"}
    """
    hub = hub_of(request)
    token, member = await admitted(request)
    entering = partial(hub.database.entered, token)
    await hub.run(partial(_caller, entering), member)  # refuse before the stream begins
    hub.live.check(member)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_events(hub, entering, member), media_type="text/event-stream", headers=headers)


async def _events(hub: Hub, entering: Entering, member: str) -> AsyncIterator[str]:
    try:
        with hub.live.following(member) as client:
            async for event in _changes(hub, entering, client):
                yield event
    except AnamnesisError as error:
        yield f"event: end\ndata: {json.dumps({'error': error.message})}\n\n"


async def _changes(hub: Hub, entering: Entering, client: Subscription) -> AsyncIterator[str]:
    """Check the caller's rights before each event: a revoked token ends the stream, a lost role ends its events."""
    known: dict[str, int] = {}
    changed: dict[int, int] | None = None
    while not client.ended:
        caller = await hub.run(partial(_caller, entering), client.member)
        seqs = {held.name: held.seq for held in caller.spaces.values()}
        for name in seqs.keys() - known.keys() | {name for name, seq in seqs.items() if known.get(name) != seq}:
            yield f"event: change\ndata: {json.dumps({'space': name, 'seq': seqs[name]})}\n\n"
        for name in known.keys() - seqs.keys():
            yield f"event: gone\ndata: {json.dumps({'space': name})}\n\n"
        known, own = seqs, {held.id for held in caller.spaces.values()}
        while not client.ended:
            changed = await client.changes(_HEARTBEAT_SECONDS)
            if changed is None or not changed or changed.keys() & own:
                break
        if not changed:
            yield ": still here\n\n"


def _caller(entering: Entering) -> Caller:
    with entering() as (_, caller):
        return caller


ROUTES = [Route("/v1/live", follow, methods=["GET"])]
