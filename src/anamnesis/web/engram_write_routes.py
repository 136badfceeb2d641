"""The routes of Engram's 21 that write. Their parameters, answers and errors are exactly those of the Go program."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

from anamnesis.engram import exchange, observations, passive, projects, prompts, sessions
from anamnesis.engram.observations import NewObservation
from anamnesis.engram.record import Export, ImportResult, Observation, PassiveResult
from anamnesis.web.engram_request import SKIPPED, EngramRequest, Invalid, answer
from anamnesis.web.lanes import Lane
from anamnesis.web.message import Response
from anamnesis.web.route import ERROR, Body, BodyLimit, Route, flag, values

_MOST_MIGRATION = 1 << 10
# The source of observations that a request imports.
_IMPORTED = "http-import"


# Bodies of requests that are not records of the store. Fields have the names that clients send.
@dataclass(frozen=True, slots=True)
class NewSession:
    id: str
    project: str
    directory: str


@dataclass(frozen=True, slots=True)
class SessionEnd:
    summary: str


@dataclass(frozen=True, slots=True)
class ObservationChanges:
    """New values of an observation's fields; missing ones are unchanged."""

    type: str | None
    title: str | None
    content: str | None
    project: str | None
    scope: str | None
    topic_key: str | None


@dataclass(frozen=True, slots=True)
class Learnings:
    session_id: str
    content: str
    project: str
    source: str


@dataclass(frozen=True, slots=True)
class NewPrompt:
    session_id: str
    content: str
    project: str


@dataclass(frozen=True, slots=True)
class ProjectMigration:
    old_project: str
    new_project: str


def create_session(request: EngramRequest, db: sqlite3.Connection) -> Response:
    """Create a session; an existing one only gets the fields that it lacks."""
    new = request.body(NewSession)
    if not new.id or not new.project:
        raise Invalid("id and project are required")
    sessions.create(db, new.id, new.project, new.directory)
    return answer({"id": new.id, "status": "created"}, 201)


def end_session(request: EngramRequest, db: sqlite3.Connection) -> Response:
    """End a session, with or without a summary. Neither an unknown session nor a body that is not JSON is an error."""
    given = request.body_as_sent(SessionEnd)
    id = request.name_in_path()
    sessions.end(db, id, request.cleaning(given.summary) if given else "")
    return answer({"id": id, "status": "completed"})


def add_observation(request: EngramRequest, db: sqlite3.Connection) -> Response:
    """Save an observation: as a new one, as a revision of its topic's, or as a repetition within 15 minutes."""
    [response] = _add_observations([request], db)
    return response


def _add_observations(requests: Sequence[EngramRequest], db: sqlite3.Connection) -> list[Response]:
    saved = observations.add_all(db, list(map(_new_observation, requests)))
    return [answer({"id": each.id, "status": "saved"}, 201) for each in saved]


def _new_observation(request: EngramRequest) -> NewObservation:
    new = request.body(NewObservation)
    if not new.session_id or not new.title or not new.content:
        raise Invalid("session_id, title, and content are required")
    return new


def capture_passively(request: EngramRequest, db: sqlite3.Connection) -> Response:
    """Save the learnings that a text lists under a heading such as "Key Learnings"."""
    given = request.body(Learnings)
    if not given.session_id:
        raise Invalid("session_id is required")
    return answer(passive.capture(db, given.session_id, given.content, given.project, given.source))


def update_observation(request: EngramRequest, db: sqlite3.Connection) -> Response:
    """Change fields of an observation."""
    id = request.number_in_path("observation")
    changes = asdict(request.body(ObservationChanges))
    if all(value is None for value in changes.values()):
        raise Invalid("at least one field is required")
    changed = observations.update(db, id, changes, request.cleaning.also)
    request.used("edited", (id,))
    return answer(request.marked(db, [changed])[0])


def delete_observation(request: EngramRequest, db: sqlite3.Connection) -> Response:
    """Soft-delete an observation, or delete it permanently. An unknown one is not an error."""
    id, hard = request.number_in_path("observation"), request.flag("hard")
    observations.delete(db, id, hard, strict=request.cleaning.strict)
    return answer({"id": id, "status": "deleted", "hard_delete": hard})


def add_prompt(request: EngramRequest, db: sqlite3.Connection) -> Response:
    """Save a prompt of the user."""
    new = request.body(NewPrompt)
    if not new.session_id or not new.content:
        raise Invalid("session_id and content are required")
    return answer({"id": prompts.add(db, new.session_id, new.content, new.project), "status": "saved"}, 201)


def import_(request: EngramRequest, db: sqlite3.Connection) -> Response:
    """Import an exported document of at most 50 MB: all of it or nothing.

    The header `X-Anamnesis-Skipped` counts observations that say something else than newer or deleted ones here.
    """
    data = request.body(Export, alone=True)
    older: list[Observation] = []
    counts = exchange.import_(db, data, _IMPORTED, strict=request.cleaning.strict, skipped=older.append)
    return answer(counts, 200, *([(SKIPPED, str(len(older)))] if older else []))


def migrate_project(request: EngramRequest, db: sqlite3.Connection) -> Response:
    """Move everything of a project to another, whatever the spelling of their names."""
    # Engram reads only this much: a value that ends before the limit is accepted, whatever follows.
    names = request.body_as_sent(ProjectMigration, most=_MOST_MIGRATION)
    if names is None:
        raise Invalid("invalid JSON")
    strict = request.cleaning.strict
    normal: Callable[[str], str] = str if strict else projects.normalise
    names = replace(names, new_project=normal(request.cleaning(names.new_project)))
    if not names.old_project or not names.new_project:
        raise Invalid("old_project and new_project are required")
    moved = projects.migrate(db, names.old_project, names.new_project, strict=strict)
    if not moved.migrated:
        is_same = normal(names.old_project) == names.new_project
        return answer({"status": "skipped", "reason": "names are identical" if is_same else "no records found"})
    counts = {
        "observations": moved.observations_updated,
        "sessions": moved.sessions_updated,
        "prompts": moved.prompts_updated,
    }
    return answer({"status": "migrated", **asdict(names), **counts})


_STATUS = values(id="string", status="string")
_SAVED = values(id="integer", status="string")
_REFUSED = {400: ERROR, 500: ERROR}

ROUTES = (
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
        "PATCH",
        "/observations/{id}",
        update_observation,
        Lane.WRITE,
        {200: Observation, 400: ERROR, 404: ERROR},
        body=Body(ObservationChanges, is_one_needed=True),
    ),
    Route(
        "DELETE",
        "/observations/{id}",
        delete_observation,
        Lane.WRITE,
        {200: values(hard_delete="boolean", id="integer", status="string"), 400: ERROR},
        {"hard": flag("Delete it permanently.")},
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
        "POST",
        "/import",
        import_,
        Lane.WRITE,
        {200: ImportResult, **_REFUSED},
        body=Body(Export),
        limit=BodyLimit(50 << 20, 400, "failed to read body: http: request body too large"),
    ),
    Route(
        "POST",
        "/projects/migrate",
        migrate_project,
        Lane.WRITE,
        {200: values(status="string"), 400: ERROR},
        body=Body(ProjectMigration, ("old_project", "new_project")),
    ),
)
