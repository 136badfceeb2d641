"""Authenticates a request: by a token of the hub, or by one of an external issuer at routes that accept it."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request

from anamnesis.hub.database import Entering
from anamnesis.hub.keys import PREFIX
from anamnesis.hub.routes import bearer_of, hub_of, token_of


async def entering_of(request: Request) -> Entering:
    """What begins a transaction of the request's caller."""
    hub = hub_of(request)
    given = bearer_of(request)
    if hub.issuer is None or not given or given.startswith(PREFIX):
        token = token_of(request)
        hub.limits.token.take(token)
        return partial(hub.database.entered, token)
    identity = await hub.run(partial(hub.issuer.identify, given))
    hub.limits.token.take(f"user {identity.user}")
    return partial(hub.database.entered_as, identity.user, identity.scopes)
