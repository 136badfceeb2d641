"""The routes of Engram's 21 that read. Their parameters, answers and errors are exactly those of the Go program."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from functools import partial

from anamnesis.engram import VERSION, exchange, observations, prompts, sessions
from anamnesis.engram.context import context as format_context
from anamnesis.engram.gotext import whole
from anamnesis.engram.projects import stats as count
from anamnesis.engram.record import (
    Export,
    Observation,
    Prompt,
    SearchResult,
    SessionSummary,
    Stats,
    Timeline,
    marked_timeline,
    nothing_waits,
)
from anamnesis.engram.search import Filters
from anamnesis.engram.search import search as search_observations
from anamnesis.engram.strings import byte_length, cut
from anamnesis.engram.timeline import timeline as find_timeline
from anamnesis.notes.orders import why_dangerous
from anamnesis.web.engram_request import LEFT_OUT, RECALLED, TOKENS, EngramRequest, Invalid, answer, failure
from anamnesis.web.lanes import Lane
from anamnesis.web.message import Response
from anamnesis.web.route import ERROR, PROJECT, SCOPE, ListOf, Route, flag, identity, number, text, values, words

_MOST_CONTEXT = 1 << 16
_CUT = "\n[truncated]"


def health(request: EngramRequest, db: sqlite3.Connection) -> Response:
    """Report that the daemon is alive."""
    return answer({"status": "ok", "service": "engram", "version": VERSION})


def recent_sessions(request: EngramRequest, db: sqlite3.Connection) -> Response:
    """List the sessions that were active last."""
    return answer(sessions.recent(db, request.stored("project"), request.integer("limit")))


def recent_observations(request: EngramRequest, db: sqlite3.Connection) -> Response:
    """List the newest observations."""
    found = observations.recent(db, request.stored("project"), request.text("scope"), request.integer("limit"))
    return answer(request.marked(db, found))


def get_observation(request: EngramRequest, db: sqlite3.Connection) -> Response:
    """Read an observation."""
    found = observations.get(db, request.number_in_path("observation"))
    if not found:
        return failure(404, "observation not found")
    request.used("opened", (found.id,))
    return answer(request.marked(db, [found])[0])


def search(request: EngramRequest, db: sqlite3.Connection) -> Response:
    """Find observations by their words, best first; if none has all words, by meaning, with a header that says so."""
    query, match_any = request.words(), request.text("match") == "any"
    filters: Filters = {
        "type": request.text("type"),
        "project": request.stored("project"),
        "scope": request.text("scope"),
        "limit": request.integer("limit"),
    }
    found = search_observations(db, query, **filters, match_any=match_any)
    headers: list[tuple[str, str]] = []
    if not found and not match_any and request.recall and (close := request.recall(db, query, filters)):
        found, headers = close, [(RECALLED, "fused")]
    request.used("found", [each.id for each in found])
    found = request.marked(db, found)
    if request.flag("include_tokens"):
        found = [replace(each, tokens=_tokens(each)) for each in found]
        headers.append((TOKENS, str(sum(each.tokens or 0 for each in found))))
    return answer(found, 200, *headers)


def _tokens(found: SearchResult) -> int:
    """An estimate of the tokens of a result."""
    from anamnesis.eval.report import estimate_tokens  # few clients request it

    return estimate_tokens(f"{found.title}\n{found.content}")


def timeline(request: EngramRequest, db: sqlite3.Connection) -> Response:
    """List the observations before and after an observation, in its session."""
    given = request.text("observation_id")
    if not given:
        raise Invalid("observation_id parameter is required")
    id = whole(given)
    if id is None:
        raise Invalid("invalid observation_id")
    found = find_timeline(db, id, request.integer("before"), request.integer("after"))
    return answer(marked_timeline(db, found, request.marked))


def recent_prompts(request: EngramRequest, db: sqlite3.Connection) -> Response:
    """List the newest prompts."""
    return answer(prompts.recent(db, request.stored("project"), request.integer("limit")))


def search_prompts(request: EngramRequest, db: sqlite3.Connection) -> Response:
    """Find prompts by their words."""
    project, limit = request.stored("project"), request.integer("limit")
    return answer(prompts.search(db, request.words(), project, limit, strict=request.cleaning.strict))


def context(request: EngramRequest, db: sqlite3.Connection) -> Response:
    """Return the context of a new session: recent sessions, prompts and observations, as markdown."""
    found = format_context(
        db,
        request.stored("project"),
        request.text("scope"),
        request.integer("limit"),
        request.flag("compact"),
        shown=partial(request.used, "injected"),
        marking=request.marked,
        waits=nothing_waits if request.cleaning.strict else why_dangerous,
    )
    most = min(request.integer("max_bytes"), _MOST_CONTEXT)
    if 0 < most < byte_length(found):
        found = cut(found, most - len(_CUT)) + _CUT if most > len(_CUT) else cut(found, most)
    return answer({"context": found})


def export(request: EngramRequest, db: sqlite3.Connection) -> Response:
    """Export everything but machine-local observations as one document, including deleted observations.

    The header `X-Anamnesis-Left-Out` counts what is machine-local.
    """
    headers = [("Content-Disposition", "attachment; filename=engram-export.json")]
    everything = exchange.export(
        db, clean=request.cleaning.outgoing, left_out=lambda counts: headers.append((LEFT_OUT, counts))
    )
    return answer(everything, 200, *headers)


def stats(request: EngramRequest, db: sqlite3.Connection) -> Response:
    """Count sessions, observations and prompts, and list the projects."""
    return answer(count(db))


def sync_status(request: EngramRequest, db: sqlite3.Connection) -> Response:
    """Report that no cloud sync is configured."""
    return answer({"enabled": False, "message": "background sync is not configured"})


_QUERY = words("Words that all have to match; punctuation is ignored.")

ROUTES = (
    Route(
        "GET",
        "/health",
        health,
        Lane.LOOP,
        {200: values(service="string", status="string", version="string")},
        uses_engram=False,
    ),
    Route(
        "GET",
        "/sessions/recent",
        recent_sessions,
        Lane.LIST,
        {200: ListOf(SessionSummary)},
        {"project": PROJECT, "limit": number("The maximum number.", 5)},
    ),
    Route(
        "GET",
        "/observations/recent",
        recent_observations,
        Lane.LIST,
        {200: ListOf(Observation)},
        {"project": PROJECT, "scope": SCOPE, "limit": number("The maximum number.", 20)},
    ),
    Route("GET", "/observations/{id}", get_observation, Lane.LIST, {200: Observation, 400: ERROR, 404: ERROR}),
    Route(
        "GET",
        "/search",
        search,
        Lane.SEARCH,
        {200: ListOf(SearchResult), 400: ERROR},
        {
            "q": _QUERY,
            "type": text("Only of this type."),
            "project": PROJECT,
            "scope": SCOPE,
            "limit": number("The maximum number, up to 20.", 10),
            "match": text("`any` matches observations with any of the words; otherwise all have to match."),
            "include_tokens": flag("Add an estimate of the tokens of each result, and of all in a header."),
        },
    ),
    Route(
        "GET",
        "/timeline",
        timeline,
        Lane.LIST,
        {200: Timeline, 400: ERROR, 404: ERROR},
        {
            "observation_id": identity("The observation in the middle."),
            "before": number("How many before it.", 5),
            "after": number("How many after it.", 5),
        },
    ),
    Route(
        "GET",
        "/prompts/recent",
        recent_prompts,
        Lane.LIST,
        {200: ListOf(Prompt)},
        {"project": PROJECT, "limit": number("The maximum number.", 20)},
    ),
    Route(
        "GET",
        "/prompts/search",
        search_prompts,
        Lane.SEARCH,
        {200: ListOf(Prompt), 400: ERROR},
        {
            "q": _QUERY,
            "project": PROJECT,
            "limit": number("The maximum number.", 10),
        },
    ),
    Route(
        "GET",
        "/context",
        context,
        Lane.LIST,
        {200: values(context="string")},
        {
            "project": PROJECT,
            "scope": SCOPE,
            "limit": number("The maximum number of observations.", 20),
            "compact": flag("Omit the contents."),
            "max_bytes": number("The maximum number of bytes, up to 65536; a cut text says so.", 0),
        },
    ),
    Route("GET", "/export", export, Lane.SEARCH, {200: Export}),
    Route("GET", "/stats", stats, Lane.LIST, {200: Stats}),
    Route(
        "GET",
        "/sync/status",
        sync_status,
        Lane.LOOP,
        {200: values(enabled="boolean", message="string")},
        uses_engram=False,
    ),
)
