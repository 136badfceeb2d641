"""The use of a note as surfaces show it: its totals, its last events, and its uses by week. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from anamnesis.notes import Memory
from anamnesis.store.priors import seconds_of
from anamnesis.store.strength import USES, Use
from anamnesis.store.usage import Totals, UseEvent

WEEKS = 26
_WEEK = 7 * 86_400
_LAST_EVENTS = 20


def use_report(note: Memory, totals: Totals | None, events: Sequence[UseEvent], now: float) -> dict[str, Any]:
    """The use of a note; the strength of an unused note fades from its last change on. `events` come newest first."""
    use, counts = totals or Totals(Use(), {})
    alive = use.changed(seconds_of(note.updated_at) or 0.0)
    return {
        "uses": use.uses,
        "sessions": use.sessions,
        "last_use": _moment(use.last) if use.uses else None,
        "strength": round(alive.strength(now), 3),
        "stability": round(use.stability, 2),
        "staleness": round(alive.staleness(now), 3),
        **{str(kind): times for kind, times in counts.items()},
        "history": [
            {"at": _moment(event.at), "kind": event.kind, "session": event.session} for event in events[:_LAST_EVENTS]
        ],
    }


def uses_by_week(events: Sequence[UseEvent], now: float) -> list[int]:
    """How often a note was used in each of the last weeks, this one last."""
    found = [0] * WEEKS
    for event in events:
        age = int((now - event.at) // _WEEK)
        if event.kind in USES and age < WEEKS:
            found[WEEKS - 1 - max(0, age)] += 1
    return found


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).isoformat()
