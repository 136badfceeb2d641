"""Routes about the daemon itself: whether it is ready, what it has done, what its API is."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Sequence

from anamnesis import __version__
from anamnesis.engram.stats import stats
from anamnesis.web import metrics, openapi
from anamnesis.web.access import Access
from anamnesis.web.message import Request, Response, answer, failure
from anamnesis.web.metrics import Metrics
from anamnesis.web.route import ERROR, Lane, Route, values


def routes(
    described: Sequence[Route],
    counted: Metrics,
    access: Access,
    connections: Callable[[], int],
    halves: Callable[[], dict[str, object]],
) -> list[Route]:
    """The routes of a daemon that has these others; `halves` tells how the notes and engram.db are."""

    def ready(request: Request, db: sqlite3.Connection) -> Response:
        """Say that the memory can be read, who serves it, and how its two halves stand to each other."""
        try:
            db.execute("SELECT 1 FROM sessions LIMIT 1").fetchone()
        except sqlite3.Error as error:
            return failure(503, f"engram.db cannot be read: {error}")
        about = {"status": "ready", "service": "anamnesis", "version": __version__, "pid": os.getpid()}
        return answer({**about, **halves()})

    def show_metrics(request: Request, db: sqlite3.Connection) -> Response:
        """Show what the daemon has done, for Prometheus."""
        kept = stats(db)
        page = counted.text(
            anamnesis_connections=connections(),
            anamnesis_write_transactions_total=access.writer.transactions,
            anamnesis_writes_total=access.writer.changes,
            anamnesis_sessions=kept.total_sessions,
            anamnesis_observations=kept.total_observations,
            anamnesis_prompts=kept.total_prompts,
        )
        return Response(200, page.encode(), metrics.TYPE)

    def describe(request: Request, db: sqlite3.Connection) -> Response:
        """Give this document."""
        return Response(200, json.dumps(openapi.document([*described, *own])).encode())

    about = values(bridge="string", pid="integer", service="string", status="string", version="string")
    own = [
        Route("GET", "/ready", ready, Lane.ASIDE, {200: about, 503: ERROR}),
        Route("GET", "/metrics", show_metrics, Lane.ASIDE, {200: metrics.TYPE}),
        Route("GET", "/openapi.json", describe, Lane.ASIDE, {200: {"type": "object"}}),
    ]
    return own
