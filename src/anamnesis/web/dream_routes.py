"""Routes about dreams: open proposals, and the last report. They only read, and no search waits for them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from anamnesis.dream.dream_journal import entry, last_dream, report, status
from anamnesis.web.lanes import Lane
from anamnesis.web.message import JSON, MARKDOWN, Request, Response, failure
from anamnesis.web.route import ERROR, OneOf, Route

if TYPE_CHECKING:
    from anamnesis.store import MemoryStore

_NONE_YET = "no dream has run yet; the daemon dreams when it is idle, and `anamnesis dream` starts one now"
_COUNT = {"type": "integer"}
_TEXT = {"type": "string"}
_DREAM = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("id", "at", "kind", "state", "reason", "trigger"), _TEXT),
        **dict.fromkeys(("looked_at", "waiting", "review"), _COUNT),
        "seconds": {"type": "number"},
        "notes": {"type": "array", "items": _TEXT},
        "proposals": {"type": "array", "items": {"type": "object"}},
    },
    "required": ["id", "at", "kind", "state", "reason", "notes"],
}
_STATUS = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("waiting", "review", "changed_notes"), _COUNT),
        "last": {"anyOf": [_DREAM, {"type": "null"}]},
    },
    "required": ["waiting", "review", "changed_notes", "last"],
}


def routes(notes: Callable[[], MemoryStore]) -> list[Route]:
    """The routes on the notes of a daemon; `notes` raises an error while they are being opened."""

    def dream_status(request: Request, db: None) -> Response:
        """Report the last dream, the changed notes since, and the proposals that wait."""
        return _answer(status(notes()))

    def last_report(request: Request, db: None) -> Response:
        """Return the report of the last dream, as JSON or, if requested, as markdown."""
        store = notes()
        change = last_dream(store)
        if change is None:
            return failure(404, _NONE_YET)
        if _prefers_markdown(request.headers.get("accept") or ""):
            return Response(200, report(store, change).encode(), MARKDOWN)
        return _answer(entry(change))

    return [
        Route("GET", "/dream/status", dream_status, Lane.LIST, {200: _STATUS, 503: ERROR}, uses_engram=False),
        Route(
            "GET",
            "/dream/last-report",
            last_report,
            Lane.LIST,
            {200: OneOf(_DREAM, MARKDOWN), 404: ERROR, 503: ERROR},
            uses_engram=False,
        ),
    ]


def _answer(value: dict[str, Any]) -> Response:
    return Response(200, json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")


def _prefers_markdown(accept: str) -> bool:
    """Whether a client accepts markdown, and does not name JSON before it."""
    kinds = [each.partition(";")[0].strip().lower() for each in accept.split(",")]
    markdown = MARKDOWN.partition(";")[0]
    return markdown in kinds and JSON not in kinds[: kinds.index(markdown)]
