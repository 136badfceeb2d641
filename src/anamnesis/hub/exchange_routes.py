"""The routes by which machines exchange notes with the hub.

The docstrings of routes are the reference, docs/hub-api.md.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from anamnesis.hub import acceptances, accounts, changes, exporting, versions
from anamnesis.hub.incoming import read_changes, read_machine, read_object, whole_number
from anamnesis.hub.refusal import Refusal
from anamnesis.hub.routes import Call, admitted, get, hub_of, number_in, post
from anamnesis.hub.tenancy import Held
from anamnesis.notes.acceptance import read_decisions, written

_MOST_CURSORS = 10_000
_MOST_IDS = 500


def me(call: Call) -> Any:
    """The user of the token, and the spaces that it may see. `hub` names the history: see POST /v1/sync.

    Nothing of a space in `invitations` is visible before POST /v1/invitations/{space} has accepted it.

    Answer: {"user", "hub", "personal", "scopes": [SCOPE], "spaces": [{"id", "name", "role", "seq", "projects": [KEY]}],
    "invitations": [{"space", "role", "inviter", "projects": [KEY]}]}
    """
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
        "invitations": accounts.list_invitations(call.db),
    }


def sync(call: Call) -> Any:
    """The current versions of notes after the client's cursors, in order, of each space that the token may see.

    A cursor is the last version of a space that the client has processed; without one, all notes come. A text that is
    null is a deletion. While `more` is true, ask again from the last version. `reset` says that the cursor is beyond
    the sequence, so that all notes came; `gone` that the space cannot be seen any more. If `hub` is another than the
    last time, the database was set back to an earlier state: compare all notes. `accepted` is a fingerprint of what
    `/v1/accepted` returns.

    Body: {"machine", "cursors": {SPACE: VERSION}, "limit"}, of which `machine` is required

    Answer: {"hub", "accepted", "spaces": {SPACE: {"id", "role", "projects", "seq", "more", "changes": [{"id",
    "version", "text", "author", "machine", "at", "erased"}], "reset"} or {"gone"}}, "invitations": as of GET /v1/me}
    """
    fields = read_object(call.body)
    read_machine(fields)
    cursors = fields.get("cursors", {})
    if not isinstance(cursors, dict) or len(cursors) > _MOST_CURSORS:
        raise Refusal("`cursors` is not an object of spaces and versions.")
    known = {name: whole_number(value, f"cursors.{name}") for name, value in cursors.items()}
    limit = whole_number(fields.get("limit", changes.MOST_PULLED), "limit") or 1
    return {
        "hub": call.caller.hub,
        "accepted": acceptances.fingerprint(call.db, call.caller),
        "spaces": changes.changes_since(call.db, call.caller, known, limit),
        "invitations": accounts.list_invitations(call.db),
    }


def answer(call: Call) -> Any:
    """Accept an invitation to a space, which makes the user a member, or decline it. The token needs the scope `write`.

    Body: {"accept": true or false}

    Answer: {"space", "role", "accepted"}
    """
    accepts = read_object(call.body).get("accept")
    if not isinstance(accepts, bool):
        raise Refusal("`accept` is neither true nor false.")
    space = call.path["space"]
    role = accounts.answer_invitation(call.db, call.caller, space, accepts=accepts)
    return {"space": space, "role": role, "accepted": accepts}


def accepted(call: Call) -> Any:
    """What the user of the token has accepted of texts that others wrote: adds decisions, and returns all.

    A line has a note's id, the BLAKE2b digest of 16 bytes of its title and body (another one for a note of all
    projects), a number, and own, accepted or withdrawn. Of several decisions about a text the one with the highest
    number counts, and of those the last in that order. Nobody else sees them. A token without the scope write adds
    none.

    Body: {"accepted": LINES}

    Answer: {"accepted": LINES}
    """
    lines = read_object(call.body).get("accepted", "")
    if not isinstance(lines, str):
        raise Refusal("`accepted` is not a text.")
    if "write" in call.caller.scopes:
        acceptances.add(call.db, call.caller.id, read_decisions(lines))
    return {"accepted": written(acceptances.decisions(call.db, call.caller))}


def push(call: Call) -> Any:
    """Change notes, each only if `base` is still its current version; 0 for a new note. A null text deletes it.

    Each change is accepted or not by itself, in the order given. The answer to a change has its new `version`, or the
    current version in `conflict`, or a sentence in `refused`. If the hub removed secrets, `text` is what it stored. A
    change that is sent again after a lost answer is accepted with the version that it got. `space_id` is optional: the
    `id` of the space in the answer of `/v1/sync`. If another space now has that name, the change is refused, and the
    answer has the other space's `space_id`: sync again before you send the change again.

    A note that another member took out of a shared space comes back only with `anew`, which a client sends if its user
    moved the note into the space: an edit or a copy of what was there before does not undo a deletion. Without it, the
    change is refused, and `taken_by` names the member.

    Body: {"machine", "changes": [{"space", "space_id", "id", "base", "text", "anew"}]}

    Answer: {"hub", "results": [{"id", "space", "version", "text"} or {"id", "space", "conflict": {"version", "text",
    "author", "machine", "at"}} or {"id", "space", "refused", "space_id", "taken_by"}]}
    """
    machine, given = read_changes(call.body)
    return {"hub": call.caller.hub, "results": changes.accept(call.db, call.caller, machine, given)}


def note(call: Call) -> Any:
    """The current version of a note; its text is null if it was deleted.

    Answer: {"space", "id", "version", "text", "author", "machine", "at", "erased"}
    """
    held = _space(call)
    return {"space": held.name, **versions.current_version(call.db, held, call.path["id"]).shown()}


def note_versions(call: Call) -> Any:
    """The last 1,000 versions of a note without their texts, the newest first.

    `closed` are those whose texts the caller cannot read, because the note was taken out of the space after them.

    Answer: {"versions": [{"version", "author", "machine", "at", "deleted", "redacted", "erased", "closed"}]}
    """
    held = _space(call)
    return {"versions": versions.list_versions(call.db, call.caller, held, call.path["id"])}


def authors(call: Call) -> Any:
    """Who has written versions of notes of a space, for up to 500 notes: of each note, the last author first.

    Body: {"ids": [ID]}

    Answer: {"authors": {ID: [USER]}}, without notes that are not there
    """
    ids = read_object(call.body).get("ids")
    if not isinstance(ids, list) or len(ids) > _MOST_IDS or not all(isinstance(each, str) for each in ids):
        raise Refusal(f"`ids` is not a list of up to {_MOST_IDS} notes.")
    return {"authors": versions.authors_of(call.db, _space(call), ids)}


def note_version(call: Call) -> Any:
    """One version of a note.

    Once somebody has deleted the note or moved it out of the space, only who wrote a version or took the note out can
    read it; others get 403.

    Answer: as of the current version
    """
    held = _space(call)
    version = number_in(call.path["version"])
    if version is None:
        raise Refusal(f"{call.path['version'][:40]!r} is not a version.", "A version is a whole number.")
    return {"space": held.name, **versions.past_version(call.db, call.caller, held, call.path["id"], version).shown()}


async def export(request: Request) -> Response:
    """Everything that the token may see, with all versions that it may read, one JSON object a line.

    The first line says whose it is, a line per space follows, then a line per version of each note. It is read page by
    page while the client receives it, so a change in between may be in it.

    Answer: {"hub", "user", "spaces"}, {"space", "role", "seq", "projects", "members": {USER: ROLE}}, {"space", "id",
    "version", "text", "author", "machine", "at", "erased"}
    """
    hub = hub_of(request)
    token, member = await admitted(request)
    export = await hub.run(partial(exporting.Export, partial(hub.database.entered, token)), member)

    async def lines() -> AsyncIterator[bytes]:
        while page := await hub.run(export.next_page, member):
            yield "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in page).encode()

    return StreamingResponse(lines(), media_type="application/jsonl")


def _space(call: Call) -> Held:
    return call.caller.space(call.path["space"])


ROUTES = [
    get("/v1/me", me),
    post("/v1/sync", sync),
    post("/v1/changes", push),
    post("/v1/invitations/{space}", answer),
    post("/v1/accepted", accepted),
    post("/v1/spaces/{space}/authors", authors),
    get("/v1/spaces/{space}/notes/{id}", note),
    get("/v1/spaces/{space}/notes/{id}/versions", note_versions),
    get("/v1/spaces/{space}/notes/{id}/versions/{version}", note_version),
    Route("/v1/export", export, methods=["GET"]),
]
