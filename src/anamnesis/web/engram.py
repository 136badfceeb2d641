"""Engram's 21 routes: what they take, what they answer and what they say when they do not, to the letter."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, replace

from anamnesis.engram import exchange, gojson, observations, passive, projects, prompts, sessions
from anamnesis.engram.clean import Row, cleaned
from anamnesis.engram.context import context as format_context
from anamnesis.engram.gotext import whole
from anamnesis.engram.observations import NewObservation
from anamnesis.engram.record import (
    Export,
    ImportResult,
    Observation,
    PassiveResult,
    Prompt,
    SearchResult,
    SessionSummary,
    Stats,
    Timeline,
)
from anamnesis.engram.search import search as search_observations
from anamnesis.engram.stats import stats as count
from anamnesis.engram.strings import byte_length, cut, trim_space
from anamnesis.engram.timeline import timeline as find_timeline
from anamnesis.web.body import Changes, Learnings, Migration, NewPrompt, NewSession, SessionEnd
from anamnesis.web.message import Invalid, Request, Response, answer, failure
from anamnesis.web.route import ERROR, Body, BodyLimit, Lane, ListOf, Route, flag, identity, number, text, values, words

VERSION = "0.1.0"
_MOST_MIGRATION = 1 << 10
_MOST_CONTEXT = 1 << 16
# Where observations come from that a request imports.
_IMPORTED = "http-import"
_CUT = "\n[truncated]"


def health(request: Request, db: sqlite3.Connection) -> Response:
    """Say that the daemon lives."""
    return answer({"status": "ok", "service": "engram", "version": VERSION})


def create_session(request: Request, db: sqlite3.Connection) -> Response:
    """Begin a session; one that is there gets only what it lacks."""
    new = _body(request, NewSession)
    if not new.id or not new.project:
        raise Invalid("id and project are required")
    sessions.create(db, new.id, new.project, new.directory)
    return answer({"id": new.id, "status": "created"}, 201)


def end_session(request: Request, db: sqlite3.Connection) -> Response:
    """End a session, with a summary or without. Neither an unknown one nor a body that is no JSON is an error."""
    try:
        summary = gojson.loads(request.body, SessionEnd).summary
    except gojson.InvalidJSON:
        summary = ""
    id = request.cleaning(request.parts["id"])
    sessions.end(db, id, request.cleaning(summary))
    return answer({"id": id, "status": "completed"})


def recent_sessions(request: Request, db: sqlite3.Connection) -> Response:
    """List the sessions that were active last."""
    return answer(sessions.recent(db, request.stored("project"), request.integer("limit", 0)))


def add_observation(request: Request, db: sqlite3.Connection) -> Response:
    """Save an observation: a new one, over the one of its topic, or as a repetition of one of the last 15 minutes."""
    [response] = _add_observations([request], db)
    return response


def _add_observations(requests: Sequence[Request], db: sqlite3.Connection) -> list[Response]:
    saved = observations.add_all(db, list(map(_new_observation, requests)))
    return [answer({"id": each.id, "status": "saved"}, 201) for each in saved]


def _new_observation(request: Request) -> NewObservation:
    new = _body(request, NewObservation)
    if not new.session_id or not new.title or not new.content:
        raise Invalid("session_id, title, and content are required")
    return new


def capture_passively(request: Request, db: sqlite3.Connection) -> Response:
    """Save the learnings that a text lists under a heading such as "Key Learnings"."""
    given = _body(request, Learnings)
    if not given.session_id:
        raise Invalid("session_id is required")
    return answer(passive.capture(db, given.session_id, given.content, given.project, given.source))


def recent_observations(request: Request, db: sqlite3.Connection) -> Response:
    """List the newest observations."""
    limit = request.integer("limit", 0)
    return answer(observations.recent(db, request.stored("project"), request.text("scope"), limit))


def get_observation(request: Request, db: sqlite3.Connection) -> Response:
    """Read an observation."""
    found = observations.get(db, path_id(request, "observation"))
    return answer(found) if found else failure(404, "observation not found")


def update_observation(request: Request, db: sqlite3.Connection) -> Response:
    """Change fields of an observation."""
    id = path_id(request, "observation")
    changes = asdict(_body(request, Changes))
    if all(value is None for value in changes.values()):
        raise Invalid("at least one field is required")
    return answer(observations.update(db, id, changes))


def delete_observation(request: Request, db: sqlite3.Connection) -> Response:
    """Hide an observation, or remove it for good. One that is not there is no error."""
    id, hard = path_id(request, "observation"), request.flag("hard")
    observations.delete(db, id, hard, strict=request.cleaning.strict)
    return answer({"id": id, "status": "deleted", "hard_delete": hard})


def search(request: Request, db: sqlite3.Connection) -> Response:
    """Find observations by their words, best first."""
    found = search_observations(
        db,
        _query(request),
        type=request.text("type"),
        project=request.stored("project"),
        scope=request.text("scope"),
        limit=request.integer("limit", 0),
        match_any=request.text("match") == "any",
    )
    return answer(found)


def timeline(request: Request, db: sqlite3.Connection) -> Response:
    """Show what was observed before and after an observation, in its session."""
    given = request.text("observation_id")
    if not given:
        raise Invalid("observation_id parameter is required")
    id = whole(given)
    if id is None:
        raise Invalid("invalid observation_id")
    return answer(find_timeline(db, id, request.integer("before", 0), request.integer("after", 0)))


def add_prompt(request: Request, db: sqlite3.Connection) -> Response:
    """Save what a user asked."""
    new = _body(request, NewPrompt)
    if not new.session_id or not new.content:
        raise Invalid("session_id and content are required")
    return answer({"id": prompts.add(db, new.session_id, new.content, new.project), "status": "saved"}, 201)


def recent_prompts(request: Request, db: sqlite3.Connection) -> Response:
    """List the newest prompts."""
    return answer(prompts.recent(db, request.stored("project"), request.integer("limit", 0)))


def search_prompts(request: Request, db: sqlite3.Connection) -> Response:
    """Find prompts by their words. The project has to be written as it is stored."""
    return answer(prompts.search(db, _query(request), request.stored("project"), request.integer("limit", 0)))


def context(request: Request, db: sqlite3.Connection) -> Response:
    """Tell a starting session what went on: recent sessions, prompts and observations, as markdown."""
    told = format_context(
        db,
        request.stored("project"),
        request.text("scope"),
        request.integer("limit", 0),
        request.flag("compact"),
    )
    most = min(request.integer("max_bytes", 0), _MOST_CONTEXT)
    if 0 < most < byte_length(told):
        told = cut(told, most - len(_CUT)) + _CUT if most > len(_CUT) else cut(told, most)
    return answer({"context": told})


def export(request: Request, db: sqlite3.Connection) -> Response:
    """Give everything in one document, deleted observations too."""
    everything = exchange.export(db, clean=request.cleaning.outgoing)
    return answer(everything, 200, ("Content-Disposition", "attachment; filename=engram-export.json"))


def import_(request: Request, db: sqlite3.Connection) -> Response:
    """Bring in such a document, of 50 MB at the most: all of it or nothing."""
    return answer(exchange.import_(db, _body(request, Export, alone=True), _IMPORTED))


def stats(request: Request, db: sqlite3.Connection) -> Response:
    """Count sessions, observations and prompts, and list the projects."""
    return answer(count(db))


def migrate_project(request: Request, db: sqlite3.Connection) -> Response:
    """Give everything of a project to another. The names are taken as they are given."""
    try:
        # Only so much is read: a value that ends within it is taken, whatever follows.
        names = gojson.loads(request.body[:_MOST_MIGRATION], Migration)
    except gojson.InvalidJSON as error:
        raise Invalid("invalid JSON") from error
    if not names.old_project or not names.new_project:
        raise Invalid("old_project and new_project are required")
    names = replace(names, new_project=request.cleaning(names.new_project))
    if names.old_project == names.new_project:
        return answer({"status": "skipped", "reason": "names are identical"})
    moved = projects.migrate(db, names.old_project, names.new_project)
    if not moved.migrated:
        return answer({"status": "skipped", "reason": "no records found"})
    counts = {
        "observations": moved.observations_updated,
        "sessions": moved.sessions_updated,
        "prompts": moved.prompts_updated,
    }
    return answer({"status": "migrated", **asdict(names), **counts})


def sync_status(request: Request, db: sqlite3.Connection) -> Response:
    """Say that nothing is synchronised with a cloud."""
    return answer({"enabled": False, "message": "background sync is not configured"})


def path_id(request: Request, what: str) -> int:
    """The number in the path."""
    id = whole(request.parts["id"])
    if id is None:
        raise Invalid(f"invalid {what} id")
    return id


def _query(request: Request) -> str:
    query = request.text("q")
    if not trim_space(query):
        raise Invalid("q parameter is required")
    return query


def _body(request: Request, kind: type[Row], *, alone: bool = False) -> Row:
    """What the request carries, redacted."""
    try:
        return cleaned(gojson.loads(request.body, kind, alone=alone), request.cleaning)
    except gojson.InvalidJSON as error:
        raise Invalid(f"invalid json: {error}") from error


_PROJECT = text("Only of this project, whatever the case of its name.")
_SCOPE = text("`personal`, or `project` for anything else.")
_COMPACT = flag("Leave the contents out.")
_QUERY = words("Words that all have to be there; punctuation in them means nothing.")
_STATUS = values(id="string", status="string")
_SAVED = values(id="integer", status="string")
_REFUSED = {400: ERROR, 500: ERROR}

ROUTES = (
    Route("GET", "/health", health, Lane.HERE, {200: values(service="string", status="string", version="string")}),
    Route(
        "POST",
        "/sessions",
        create_session,
        Lane.WRITE,
        {201: _STATUS, 400: ERROR},
        body=Body(NewSession, ("id", "project")),
    ),
    Route("POST", "/sessions/{id}/end", end_session, Lane.WRITE, {200: _STATUS}, body=Body(SessionEnd)),
    Route(
        "GET",
        "/sessions/recent",
        recent_sessions,
        Lane.ASIDE,
        {200: ListOf(SessionSummary)},
        {"project": _PROJECT, "limit": number("How many at the most.", 5)},
    ),
    Route(
        "POST",
        "/observations",
        add_observation,
        Lane.WRITE,
        {201: _SAVED, **_REFUSED},
        body=Body(NewObservation, ("session_id", "title", "content")),
        call_all=_add_observations,
    ),
    Route(
        "POST",
        "/observations/passive",
        capture_passively,
        Lane.WRITE,
        {200: PassiveResult, **_REFUSED},
        body=Body(Learnings, ("session_id",)),
    ),
    Route(
        "GET",
        "/observations/recent",
        recent_observations,
        Lane.ASIDE,
        {200: ListOf(Observation)},
        {"project": _PROJECT, "scope": _SCOPE, "limit": number("How many at the most.", 20)},
    ),
    Route("GET", "/observations/{id}", get_observation, Lane.HERE, {200: Observation, 400: ERROR, 404: ERROR}),
    Route(
        "PATCH",
        "/observations/{id}",
        update_observation,
        Lane.WRITE,
        {200: Observation, 400: ERROR, 404: ERROR},
        body=Body(Changes, is_one_needed=True),
    ),
    Route(
        "DELETE",
        "/observations/{id}",
        delete_observation,
        Lane.WRITE,
        {200: values(hard_delete="boolean", id="integer", status="string"), 400: ERROR},
        {"hard": flag("Remove it for good.")},
    ),
    Route(
        "GET",
        "/search",
        search,
        Lane.LONG,
        {200: ListOf(SearchResult), 400: ERROR},
        {
            "q": _QUERY,
            "type": text("Only of this type."),
            "project": _PROJECT,
            "scope": _SCOPE,
            "limit": number("How many at the most, up to 20.", 10),
            "match": text("`any` finds what has one of the words; otherwise all have to be there."),
        },
    ),
    Route(
        "GET",
        "/timeline",
        timeline,
        Lane.ASIDE,
        {200: Timeline, 400: ERROR, 404: ERROR},
        {
            "observation_id": identity("The observation in the middle."),
            "before": number("How many before it.", 5),
            "after": number("How many after it.", 5),
        },
    ),
    Route(
        "POST",
        "/prompts",
        add_prompt,
        Lane.WRITE,
        {201: _SAVED, **_REFUSED},
        body=Body(NewPrompt, ("session_id", "content")),
    ),
    Route(
        "GET",
        "/prompts/recent",
        recent_prompts,
        Lane.ASIDE,
        {200: ListOf(Prompt)},
        {"project": _PROJECT, "limit": number("How many at the most.", 20)},
    ),
    Route(
        "GET",
        "/prompts/search",
        search_prompts,
        Lane.LONG,
        {200: ListOf(Prompt), 400: ERROR},
        {
            "q": _QUERY,
            "project": text("Only of this project, as its name is stored."),
            "limit": number("How many at the most.", 10),
        },
    ),
    Route(
        "GET",
        "/context",
        context,
        Lane.ASIDE,
        {200: values(context="string")},
        {
            "project": _PROJECT,
            "scope": _SCOPE,
            "limit": number("How many observations at the most.", 20),
            "compact": _COMPACT,
            "max_bytes": number("How long it may be, up to 65536 bytes; what is cut says so.", 0),
        },
    ),
    Route("GET", "/export", export, Lane.LONG, {200: Export}),
    Route(
        "POST",
        "/import",
        import_,
        Lane.WRITE,
        {200: ImportResult, **_REFUSED},
        body=Body(Export),
        limit=BodyLimit(50 << 20, 400, "failed to read body: http: request body too large"),
    ),
    Route("GET", "/stats", stats, Lane.ASIDE, {200: Stats}),
    Route(
        "POST",
        "/projects/migrate",
        migrate_project,
        Lane.WRITE,
        {200: values(status="string"), 400: ERROR},
        body=Body(Migration, ("old_project", "new_project")),
    ),
    Route("GET", "/sync/status", sync_status, Lane.HERE, {200: values(enabled="boolean", message="string")}),
)
