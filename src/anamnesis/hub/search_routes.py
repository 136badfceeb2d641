"""The search as a route: `GET /v1/search?q=&space=&project=&type=&limit=&mode=`."""

from __future__ import annotations

from typing import Any

from anamnesis.hub import search
from anamnesis.hub.refusal import Refusal
from anamnesis.hub.routes import Call, get
from anamnesis.hub.store import HubStore
from anamnesis.mcp.answer import KEYS
from anamnesis.recall.query import MODES, telling_words
from anamnesis.store.note_reader import Hit

_LONGEST_QUERY = 10_000
_EXCERPT = 300


def find(call: Call) -> Any:
    """The notes that best match a query, the best first, each with an excerpt. `weak` marks one that hardly fits.

    Query: `q`, up to 10,000 characters; `space`, `project`, `type`; `limit`, 1 to 100, else 8; `mode`, fused (words and
    meaning), words or meaning

    Answer: {"notes": [{"id", "type", "title", "project", "machine_id", "scope", "tags", "created_at", "updated_at",
    "space", "version", "score", "excerpt", "weak", "origin", "unreviewed", "outdated_by", "contradicts", "stale"}]}
    """
    query = call.query.get("q", "")
    if not query.strip() or len(query) > _LONGEST_QUERY:
        raise Refusal("`q` is empty or too long.", f"Give up to {_LONGEST_QUERY:,} characters.")
    named = call.query.get("mode", "fused")
    mode = next((each for each in MODES if each == named), None)
    if mode is None:
        raise Refusal(f"`mode` {named[:40]!r} is not one of {', '.join(MODES)}.")
    filters: dict[str, Any] = {name: call.query.get(name) or None for name in ("space", "project", "type")}
    k = call.number("limit", 8, search.MOST_HITS)
    hits = HubStore(call.db, call.caller).hits(query, k=k, mode=mode, **filters)
    return {"notes": [shown(hit, query) for hit in hits]}


def shown(hit: Hit, query: str) -> dict[str, Any]:
    """A hit as lists show it: with the part of its text where the query's words are."""
    note = hit.memory
    found = {name: getattr(note, name) for name in (*KEYS, "space", "version")}
    found |= {"score": round(hit.score, 6), "excerpt": excerpt(note.body, query), **hit.marks.shown()}
    return found | ({"weak": True} if hit.is_weak else {})


def excerpt(body: str, query: str) -> str:
    """The part of a text around the first word of a query, or its beginning."""
    text = " ".join(body[:100_000].split())
    lower = text.lower()
    first = min((place for word in telling_words(query) if (place := lower.find(word)) >= 0), default=0)
    start = max(0, first - _EXCERPT // 4)
    end = start + _EXCERPT
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


ROUTES = [get("/v1/search", find)]
