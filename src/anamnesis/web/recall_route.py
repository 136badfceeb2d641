"""`POST /recall`: ranks the notes by words and meaning, for any client and for our own other processes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from anamnesis.daemon_client import PATH
from anamnesis.errors import InvalidArgument
from anamnesis.mcp.arguments import checked, optional, parameters, text, texts, yes_or_no
from anamnesis.mcp.memory import FILTERS, MODE, MOST
from anamnesis.notes import SOURCES
from anamnesis.store.queries import Filter, at_least_zero
from anamnesis.store.question import Question, Ranked
from anamnesis.web.lanes import Lane
from anamnesis.web.message import Request, Response, failure
from anamnesis.web.route import ERROR, Route

if TYPE_CHECKING:
    from anamnesis.store import MemoryStore

_PARAMETERS = parameters(
    query=text('The words of the question. A phrase in "quotes" is matched literally.'),
    **FILTERS,
    names=texts("All names of the project, if they are known.", default=[]),
    tags=texts("Only notes with all of these tags.", default=[]),
    source=optional(text("Only notes of this source.", enum=list(SOURCES))),
    machine=optional(text("Only notes of this machine.")),
    since=optional(text("Only notes changed since this time.")),
    until=optional(text("Only notes changed before this time.")),
    ids=optional(texts("Only these notes, by their ids.")),
    others=optional(texts("Only notes that were not imported, without these.")),
    k=MOST,
    mode=MODE,
    explain=yes_or_no("Add the reasons for each score.", default=False),
    at_hand=optional(text("The current project: among equal hits, its notes come first.")),
    like=text("Instead of a query, the id of a note: find the notes that are close to it.", default=""),
    warm=yes_or_no("Return nothing unless the model is loaded.", default=False),
)
_NUMBER = {"type": "number"}
_WEIGHTS = {"type": "object", "additionalProperties": _NUMBER}
_HIT = {
    "type": "object",
    "properties": {
        **{name: {"type": "string"} for name in ("id", "path", "type", "project", "title", "outdated_by", "stale")},
        "origin": {"type": "string"},
        "unreviewed": {"type": "boolean"},
        "contradicts": {"type": "array", "items": {"type": "string"}},
        "score": _NUMBER,
        "fit": {"type": ["number", "null"]},
        "seen": {"type": "array", "items": {"type": "integer"}},
        "why": {
            "type": ["object", "null"],
            "properties": {"words": _WEIGHTS, "parts": _WEIGHTS, "evidence": _WEIGHTS, "use": _WEIGHTS},
        },
    },
    "required": ["id", "path", "score", "fit", "seen", "why"],
}
_FOUND = {"type": "object", "properties": {"hits": {"type": "array", "items": _HIT}}, "required": ["hits"]}


def routes(notes: Callable[[], MemoryStore]) -> list[Route]:
    """The route on the notes of a daemon; `notes` raises an error while they are being opened."""

    def recall(request: Request, db: None) -> Response:
        """Find the notes that best answer a query, by words and meaning."""
        try:
            question = _question(request.body)
            memory = notes()
            ranked = memory.ranking.rank(question)
        except InvalidArgument as error:
            return failure(400, str(error))
        ids = [each.id for each in ranked]
        headings, marks = memory.ranking.headings(ids), memory.marks(ids)
        origins = memory.origins(memory.whole(ids))
        hits = [{**_as_dict(each), **headings.get(each.id, {})} for each in ranked]
        for hit in hits:
            hit |= marks[hit["id"]].shown() if hit["id"] in marks else {}
            hit |= origins[hit["id"]].shown() if hit["id"] in origins else {}
        return Response(200, json.dumps({"hits": hits}, separators=(",", ":")).encode() + b"\n")

    answers = {200: _FOUND, 400: ERROR, 503: ERROR}
    return [Route("POST", PATH, recall, Lane.SEARCH, answers, body=_PARAMETERS, uses_engram=False)]


def _question(body: bytes) -> Question:
    try:
        given = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"The body of POST {PATH} is not JSON: {error}.") from error
    arguments = checked(f"POST {PATH}", _PARAMETERS, {} if given is None else given)
    own = {name: arguments.pop(name) for name in Question._fields if name in arguments}
    own["k"] = at_least_zero("k", own["k"])
    wanted: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in arguments.items()
    }
    return Question(wanted=Filter(**wanted), **own)


def _as_dict(hit: Ranked) -> dict[str, Any]:
    return {**hit._asdict(), "why": hit.why._asdict() if hit.why else None}
