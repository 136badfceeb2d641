"""The list of notes: search with filters, facets, pages and reasons."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from anamnesis.errors import InvalidArgument
from anamnesis.notes.foreign import with_origin
from anamnesis.store import Hit, MemoryStore
from anamnesis.store.facets import facets
from anamnesis.store.lookup import selected_ids
from anamnesis.store.queries import Filter
from anamnesis.web.lanes import Lane
from anamnesis.web.ui.view import Data, PageRequest, Site, View, summaries, summary

_PAGE = 30
# Explaining a hit takes half a millisecond, so a search has shorter pages, and a limited number of them.
_HITS = 20
_MOST_PAGES_OF_HITS = 10
_FILTERS = ("project", "type", "machine", "source", "since")
_LONGEST_QUERY = 1_000
_PERIODS = {"today": 0, "7 days": 6, "30 days": 29, "a year": 364}


def _read(site: Site, request: PageRequest) -> Data:
    store = site.vault.notes
    query, page = _query(request), page_of(request)
    wanted = _filter(request)
    if query:
        page = min(page, _MOST_PAGES_OF_HITS)
        hits = store.hits(query, k=page * _HITS + 1, explain=True, **_also(wanted))
        rows = [hit_summary(hit) for hit in hits[(page - 1) * _HITS :]]
        size, is_last = _HITS, page == _MOST_PAGES_OF_HITS
    else:
        notes = store.list(limit=_PAGE + 1, offset=(page - 1) * _PAGE, **_also(wanted))
        rows = summaries(store, notes)
        size, is_last = _PAGE, False
    has_next = len(rows) > size and not is_last
    return {"query": query, "page": page, "next": page + 1 if has_next else None, "notes": rows[:size]}


def _facets(site: Site, request: PageRequest) -> Data:
    """The number of notes, in all and by each facet. The list does not wait for it."""
    found = facets(site.vault.notes, _query(request), _filter(request))
    values = {name: [list(value) for value in values] for name, values in found.values.items()}
    return {"total": found.total, "periods": _periods(), "facets": values, "chosen": [*found.chosen]}


def selected(store: MemoryStore, request: PageRequest) -> list[str]:
    """The ids of all notes of a list, or of the hits on all pages of a search."""
    query, wanted = _query(request), _filter(request)
    if not query:
        return selected_ids(store, wanted)
    return [hit.memory.id for hit in store.hits(query, k=_MOST_PAGES_OF_HITS * _HITS, **_also(wanted))]


def _query(request: PageRequest) -> str:
    return request.query.get("q", "").strip()[:_LONGEST_QUERY]


def _filter(request: PageRequest) -> Filter:
    chosen: dict[str, Any] = {name: request.query.get(name) or None for name in _FILTERS}
    _check_day(chosen["since"] or "")
    tags = tuple(tag for tag in request.query.get("tag", "").split(",") if tag)
    return Filter(tags=tags, **chosen)


def _also(wanted: Filter) -> dict[str, Any]:
    names = (*_FILTERS, "tags")
    return {name: value for name in names if (value := getattr(wanted, name))}


def _check_day(since: str) -> None:
    try:
        datetime.fromisoformat(since or "2026-01-01")
    except ValueError as error:
        raise InvalidArgument(f"since {since[:40]!r} is not a day.", "Give one such as 2026-01-31.") from error


def _periods() -> list[list[str]]:
    """The choices of the filter by the time of the last change."""
    today = datetime.now(UTC).date()
    return [[name, (today - timedelta(days=days)).isoformat()] for name, days in _PERIODS.items()]


def page_of(request: PageRequest) -> int:
    """The number of the requested page."""
    given = request.query.get("page") or "1"
    if not given.isascii() or not given.isdigit() or not 0 < int(given) < 1_000_000:
        raise InvalidArgument(f"page {given[:20]!r} is not a page number.", "Give a whole number from 1.")
    return int(given)


def hit_summary(hit: Hit) -> Data:
    """A hit as lists show it: with its score, its fit, and the parts of the score."""
    why = hit.why.shown() if hit.why else None
    note = with_origin(hit.memory, hit.marks.origin)
    return {**summary(note), "score": round(hit.score, 4), "fit": hit.fit, "weak": hit.is_weak, "why": why}


VIEWS = (
    View("/notes", "notes.html", _read, Lane.SEARCH, _facets),
    View("/notes/facets", "facets.html", _facets, Lane.SEARCH),
)
