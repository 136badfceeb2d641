"""What a platform asks: whether the process lives, whether it can work, and how much it does. Without a token."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from anamnesis import __version__
from anamnesis.hub.migrations import pending
from anamnesis.hub.refusal import Unavailable
from anamnesis.hub.routes import Hub, hub_of
from anamnesis.web.metrics import TYPE


async def health(_: Request) -> Response:
    """The process answers; whether the database does is no reason to restart it."""
    return JSONResponse({"status": "ok", "version": __version__})


async def ready(request: Request) -> Response:
    hub = hub_of(request)
    await hub.run(partial(_check, hub))
    return JSONResponse({"status": "ready"})


async def metrics(request: Request) -> Response:
    hub = hub_of(request)
    return PlainTextResponse(hub.metrics.text(**hub.database.gauges()), media_type=TYPE)


def _check(hub: Hub) -> None:
    with hub.database.transaction() as db:
        if missing := pending(db):
            raise Unavailable(f"The database lacks step {missing[0].number}.", "Run: anamnesis hub migrate")


ROUTES = [Route("/healthz", health), Route("/readyz", ready), Route("/metrics", metrics)]
