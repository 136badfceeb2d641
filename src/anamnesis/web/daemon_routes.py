"""Routes about the daemon itself: readiness, metrics and the description of the API."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Sequence

from anamnesis import __version__
from anamnesis.engram.projects import stats
from anamnesis.web import metrics, openapi
from anamnesis.web.lanes import Lane, Lanes
from anamnesis.web.message import Request, Response, failure
from anamnesis.web.metrics import Metrics
from anamnesis.web.route import ERROR, Route, values


def routes(
    described: Sequence[Route],
    counted: Metrics,
    lanes: Lanes,
    connections: Callable[[], int],
    state: Callable[[], dict[str, object]],
    gauges: Callable[[], dict[str, float]],
) -> list[Route]:
    """The routes of a daemon whose API has the `described` ones.

    `state` reports on notes, engram.db and the bridge; `gauges` are those of notes and dreams.
    """

    def ready(request: Request, db: None) -> Response:
        """Report that the memory can be read, which process serves it, and the state of the bridge."""
        try:
            if lanes.has_engram:
                lanes.connection().execute("SELECT 1 FROM sessions LIMIT 1").fetchone()
        except sqlite3.Error as error:
            return failure(503, f"engram.db cannot be read: {error}")
        about = {"status": "ready", "service": "anamnesis", "version": __version__, "pid": os.getpid()}
        return Response(200, json.dumps({**about, **state()}, separators=(",", ":"), sort_keys=True).encode() + b"\n")

    def show_metrics(request: Request, db: None) -> Response:
        """Show the metrics of the daemon, for Prometheus."""
        page = counted.text(
            anamnesis_connections=connections(),
            anamnesis_write_transactions_total=lanes.writer.transactions,
            anamnesis_writes_total=lanes.writer.changes,
            **_engram_counts(lanes),
            **gauges(),
        )
        return Response(200, page.encode(), metrics.TYPE)

    def describe(request: Request, db: None) -> Response:
        """Return this document."""
        return Response(200, json.dumps(openapi.document([*described, *own])).encode())

    about = values(bridge="string", pid="integer", service="string", status="string", version="string")
    own = [
        Route("GET", "/ready", ready, Lane.LIST, {200: about, 503: ERROR}, uses_engram=False),
        Route("GET", "/metrics", show_metrics, Lane.LIST, {200: metrics.TYPE}, uses_engram=False),
        Route("GET", "/openapi.json", describe, Lane.LIST, {200: {"type": "object"}}, uses_engram=False),
    ]
    return own


def _engram_counts(lanes: Lanes) -> dict[str, int]:
    """The counts of an engram.db, if there is one."""
    if not lanes.has_engram:
        return {}
    counts = stats(lanes.connection())
    return {
        "anamnesis_sessions": counts.total_sessions,
        "anamnesis_observations": counts.total_observations,
        "anamnesis_prompts": counts.total_prompts,
    }
