"""What a platform asks: whether the process lives, whether it can work, and how much it does. Without a token."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from anamnesis import __version__
from anamnesis.hub.migrations import missing
from anamnesis.hub.refusal import Unavailable
from anamnesis.hub.routes import Hub, hub_of
from anamnesis.web.metrics import TYPE


async def health(_: Request) -> Response:
    """Whether the process answers; a missing database is no reason to restart it. Without a token.

    Answer: {"status", "version"}
    """
    return JSONResponse({"status": "ok", "version": __version__})


async def ready(request: Request) -> Response:
    """Whether the database can be used and has the steps of this program; 503 if not. Without a token.

    Answer: {"status"}
    """
    hub = hub_of(request)
    await hub.run(partial(_check, hub), "")
    return JSONResponse({"status": "ready"})


async def metrics(request: Request) -> Response:
    """Requests and their times by route, and the use of connections, in the text format of Prometheus. Without a token.

    Do not forward it to other networks: it says how much the hub is used.
    """
    hub = hub_of(request)
    return PlainTextResponse(hub.metrics.text(**hub.database.gauges()), media_type=TYPE)


def _check(hub: Hub) -> None:
    """A running server stays ready when the next version migrates: its requests still work."""
    with hub.database.transaction() as db:
        if steps := missing(db):
            raise Unavailable(f"The database lacks step {steps[0].number}.", "Run: anamnesis hub migrate")


ROUTES = [Route("/healthz", health), Route("/readyz", ready), Route("/metrics", metrics)]
