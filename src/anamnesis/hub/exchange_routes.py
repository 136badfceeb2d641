"""The routes by which machines exchange notes with the hub."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from anamnesis.hub import changes, exporting, versions
from anamnesis.hub.incoming import read_changes, read_machine, read_object, whole_number
from anamnesis.hub.refusal import Refusal
from anamnesis.hub.routes import Call, address_of, get, hub_of, number_in, post, token_of
from anamnesis.hub.tenancy import Held

_MOST_CURSORS = 10_000


def me(call: Call) -> Any:
    caller = call.caller
    spaces = [
        {"id": each.id, "name": each.name, "role": each.role, "seq": each.seq, "projects": each.projects}
        for each in caller.spaces.values()
    ]
    return {
        "user": caller.name,
        "hub": caller.hub,
        "personal": caller.personal,
        "scopes": sorted(caller.scopes),
        "spaces": spaces,
    }


def sync(call: Call) -> Any:
    fields = read_object(call.body)
    read_machine(fields)
    cursors = fields.get("cursors", {})
    if not isinstance(cursors, dict) or len(cursors) > _MOST_CURSORS:
        raise Refusal("`cursors` is not an object of spaces and versions.")
    known = {name: whole_number(value, f"cursors.{name}") for name, value in cursors.items()}
    limit = whole_number(fields.get("limit", changes.MOST_PULLED), "limit") or 1
    return {"hub": call.caller.hub, "spaces": changes.changes_since(call.db, call.caller, known, limit)}


def push(call: Call) -> Any:
    machine, given = read_changes(call.body)
    return {"hub": call.caller.hub, "results": changes.accept(call.db, call.caller, machine, given)}


def note(call: Call) -> Any:
    held = _space(call)
    return {"space": held.name, **versions.current_version(call.db, held, call.path["id"]).shown()}


def note_versions(call: Call) -> Any:
    held = _space(call)
    return {"versions": versions.list_versions(call.db, held, call.path["id"])}


def note_version(call: Call) -> Any:
    held = _space(call)
    version = number_in(call.path["version"])
    if version is None:
        raise Refusal(f"{call.path['version'][:40]!r} is not a version.", "A version is a whole number.")
    return {"space": held.name, **versions.past_version(call.db, held, call.path["id"], version).shown()}


async def export(request: Request) -> Response:
    """Everything the caller may see, one JSON object a line, read in short transactions while the client takes it."""
    hub = hub_of(request)
    hub.limits.address.take(address_of(request))
    entered = partial(hub.database.entered, token_of(request))
    export = await hub.run(partial(exporting.Export, entered))

    async def lines() -> AsyncIterator[bytes]:
        while page := await hub.run(export.next_page):
            yield "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in page).encode()

    return StreamingResponse(lines(), media_type="application/jsonl")


def _space(call: Call) -> Held:
    return call.caller.space(call.path["space"])


ROUTES = [
    get("/v1/me", me),
    post("/v1/sync", sync),
    post("/v1/changes", push),
    get("/v1/spaces/{space}/notes/{id}", note),
    get("/v1/spaces/{space}/notes/{id}/versions", note_versions),
    get("/v1/spaces/{space}/notes/{id}/versions/{version}", note_version),
    Route("/v1/export", export, methods=["GET"]),
]
