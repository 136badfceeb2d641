"""The priors that break near-ties between notes: recency, confidence, strength, and the current project."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from anamnesis.notes.record import GLOBAL
from anamnesis.store.projects import by_any_name
from anamnesis.store.queries import Filter

if TYPE_CHECKING:
    from anamnesis.store.index import Connection
    from anamnesis.store.strength import Use
    from anamnesis.store.usage import Usage

# The most that each prior adds to a score. They sum up to less than 0.02, so that they only order near-ties.
# More for recency costs recall where old notes are as good as new ones: 0.006 loses 0.2 % of LoCoMo's evidence.
_RECENT = 0.002
_SURE = 0.004
_STRONG = 0.004
_AT_HAND = 0.006
MOST = _RECENT + _SURE + _STRONG + _AT_HAND
# A note this many days older than the newest candidate gets half of the recency prior.
_HALF_LIFE = 30.0


class Candidate(NamedTuple):
    """A note that is among the best, with the values that its priors depend on."""

    number: int
    id: str
    updated_at: str
    project: str
    confidence: float
    strength: float | None
    use: Use | None = None


def candidates(db: Connection, numbers: Sequence[int]) -> list[Candidate]:
    """The notes with these numbers, in their order."""
    rows = db.execute(
        "SELECT number, id, updated_at, project, confidence, json_extract(rest, '$.engram.strength') FROM memories"
        " WHERE number IN (SELECT value FROM json_each(:numbers))",
        {"numbers": json.dumps(list(numbers))},
    )
    notes = (Candidate._make((*row, None)) for row in rows)
    found = {note.number: note._replace(strength=_number(note.strength)) for note in notes}
    return [found[number] for number in numbers]


def with_use(notes: Sequence[Candidate], usage: Usage) -> list[Candidate]:
    """The notes, with the strength by use of those that were used. One query; nothing is written."""
    now = time.time()
    used = usage.uses(note.id for note in notes)
    return [
        note._replace(strength=use.strength(now), use=use) if (use := used.get(note.id)) else note for note in notes
    ]


def priors(db: Connection, notes: Sequence[Candidate], at_hand: str | None) -> list[dict[str, float]]:
    """The priors of each note by name, to be added to its score."""
    at_hand_as = () if at_hand in (None, GLOBAL) else by_any_name(db, Filter(at_hand)).names or (at_hand,)
    moments = [seconds_of(note.updated_at) for note in notes]
    newest = max((moment for moment in moments if moment is not None), default=0.0)
    found = []
    for note, moment in zip(notes, moments, strict=True):
        days = None if moment is None else (newest - moment) / 86_400
        reasons = {
            "recent": 0.0 if days is None else _RECENT * 0.5 ** (days / _HALF_LIFE),
            "sure": _SURE * _share(note.confidence),
            "strong": _STRONG * _share(note.strength or 0.0),
            "at hand": _AT_HAND if note.project in at_hand_as else 0.0,
        }
        found.append({reason: value for reason, value in reasons.items() if value})
    return found


def _share(value: float) -> float:
    return value if 0 < value < 1 else float(value >= 1)


def _number(value: object) -> float | None:
    try:
        return float(str(value))
    except ValueError:
        return None


def seconds_of(text: str) -> float | None:
    """A time in seconds; None if the text is not a time with an offset."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None
