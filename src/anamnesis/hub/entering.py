"""Authenticates a request to MCP: by a token of the hub, or by one of an external issuer, which holds nowhere else."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request

from anamnesis.hub.database import Entering
from anamnesis.hub.keys import PREFIX
from anamnesis.hub.refusal import NotAuthenticated
from anamnesis.hub.routes import address_of, admitted, bearer_of, hub_of, stranger


async def entering_of(request: Request) -> tuple[Entering, str]:
    """What begins a transaction of the request's caller, and the caller's name."""
    hub, address = hub_of(request), address_of(request)
    given = bearer_of(request)
    if hub.issuer is None or not given or given.startswith(PREFIX):
        token, member = await admitted(request)
        return partial(hub.database.entered, token), member
    hub.limits.address.take(address)
    try:
        identity = await hub.run(partial(hub.issuer.identify, given), stranger(address))
    except NotAuthenticated:
        hub.limits.failure.take(address)
        raise
    hub.limits.token.take(f"user {identity.user}")
    entering = partial(hub.database.entered_as, identity.user, identity.scopes)
    return entering, await hub.member(f"user {identity.user}", entering, address)
