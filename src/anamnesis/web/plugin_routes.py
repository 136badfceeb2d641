"""Routes beyond Engram's 21: those that newer plugins of Engram call, and Reverie's context."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

from anamnesis.engram import observations, prompts, sessions
from anamnesis.engram.context import DEFAULT_SMART, smart_context
from anamnesis.engram.detection import detected
from anamnesis.engram.observations import DEFAULT_RECENT
from anamnesis.engram.record import Observation, Session
from anamnesis.engram.strings import valid
from anamnesis.history.observation import ObservationRevision, revisions
from anamnesis.notes.fence import quoted
from anamnesis.project import git_says
from anamnesis.web.engram_request import EngramRequest, answer, failure
from anamnesis.web.lanes import Lane
from anamnesis.web.message import JSON, Response
from anamnesis.web.route import ERROR, PROJECT, SCOPE, ListOf, Route, number, text, values


def _project_of(cwd: str, home: Path) -> Response:
    folder = Path(cwd)
    if not folder.is_absolute() or "\0" in cwd:
        hint = "give cwd, the absolute path of a folder"
        return answer({"project": "", "project_source": "", "project_path": "", "cwd": cwd, "error_hint": hint})
    root = git_says(folder, "rev-parse", "--show-toplevel") if folder.is_dir() else ""
    detection = detected(folder, home)
    found = {
        "project": detection.project,
        "project_source": detection.source,
        "project_path": root or str(folder),
        "cwd": cwd,
    }
    return answer({**found, "available_projects": [found["project"]]})


def get_session(request: EngramRequest, db: sqlite3.Connection) -> Response:
    """Read a session."""
    found = sessions.get(db, request.name_in_path())
    return answer(found) if found else failure(404, "session not found")


def delete_session(request: EngramRequest, db: sqlite3.Connection) -> Response:
    """Remove a session and its prompts, unless it has observations."""
    id = request.name_in_path()
    sessions.delete(db, id)
    return answer({"id": id, "status": "deleted"})


def delete_prompt(request: EngramRequest, db: sqlite3.Connection) -> Response:
    """Remove a prompt."""
    id = request.number_in_path("prompt")
    prompts.delete(db, id)
    return answer({"id": id, "status": "deleted"})


def list_observations(request: EngramRequest, db: sqlite3.Connection) -> Response:
    """List the newest observations. Without any, the list is empty, not null."""
    found = observations.recent(db, request.stored("project"), request.text("scope"), request.integer("limit"))
    return answer(request.marked(db, found)) if found else Response(200, b"[]\n", JSON)


def observation_history(request: EngramRequest, db: sqlite3.Connection) -> Response:
    """List the revisions of an observation, the newest first, each with its difference from the one before."""
    limit = request.integer("limit")
    found = revisions(db, request.number_in_path("observation"), limit if limit > 0 else DEFAULT_RECENT)
    marked = request.marked(db, [each.observation for each in found])
    if found and marked[0] != found[0].observation:
        pairs = zip(found, marked, strict=True)
        found = [replace(each, observation=row, diff=quoted(each.diff)) for each, row in pairs]
    return answer(found) if found else failure(404, "observation not found")


def context_smart(request: EngramRequest, db: sqlite3.Connection) -> Response:
    """Return the context of a new session: recent, recurring and personal observations, as markdown."""
    project, limit = request.stored("project"), request.integer("limit")
    return answer({"context": smart_context(db, project, limit, request.marked)})


_STATUS = values(id="string", status="string")


def routes(home: Path) -> list[Route]:
    """The routes; `home` is ANAMNESIS_HOME, which records the trusted names of projects."""

    def current_project(request: EngramRequest, db: sqlite3.Connection) -> Response:
        """Detect the project of a folder, and report the source of its name."""
        return _project_of(valid(request.text("cwd")), home)

    project = Route(
        "GET",
        "/project/current",
        current_project,
        Lane.GIT,
        {200: values(project="string", project_source="string", project_path="string", cwd="string")},
        {"cwd": text("The absolute path of a folder.")},
        uses_engram=False,
    )
    return [project, *_ROUTES]


_ROUTES = (
    Route("GET", "/sessions/{id}", get_session, Lane.LOOP, {200: Session, 404: ERROR}),
    Route("DELETE", "/sessions/{id}", delete_session, Lane.WRITE, {200: _STATUS, 404: ERROR, 409: ERROR}),
    Route(
        "DELETE",
        "/prompts/{id}",
        delete_prompt,
        Lane.WRITE,
        {200: values(id="integer", status="string"), 400: ERROR, 404: ERROR},
    ),
    Route(
        "GET",
        "/observations",
        list_observations,
        Lane.LIST,
        {200: ListOf(Observation)},
        {
            "project": PROJECT,
            "scope": SCOPE,
            "limit": number("The maximum number.", 20),
            "sort": text("Ignored: the order is always created_at:desc."),
        },
    ),
    Route(
        "GET",
        "/observations/{id}/history",
        observation_history,
        Lane.SEARCH,
        {200: ListOf(ObservationRevision), 400: ERROR, 404: ERROR},
        {"limit": number("The maximum number.", DEFAULT_RECENT)},
    ),
    Route(
        "GET",
        "/context/smart",
        context_smart,
        Lane.LIST,
        {200: values(context="string")},
        {"project": PROJECT, "limit": number("The maximum number of observations, up to 100.", DEFAULT_SMART)},
    ),
)
