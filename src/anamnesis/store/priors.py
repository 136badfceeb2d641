"""What breaks a near-tie between notes: how new, how sure and how strong they are, and the project at hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from anamnesis.project import GLOBAL
from anamnesis.store.projects import by_any_name
from anamnesis.store.queries import Filter

if TYPE_CHECKING:
    from anamnesis.store.index import Connection

# The most that each adds to a score. All together are 0.02: less than the difference between a note that answers a
# question and its neighbours, so that they only order notes that fit it alike.
_RECENT = 0.006
_SURE = 0.004
_STRONG = 0.004
_AT_HAND = 0.006
MOST = _RECENT + _SURE + _STRONG + _AT_HAND
# After this many days, a note counts half as recent as the newest one it is compared with.
_HALF_LIFE = 30.0


class Candidate(NamedTuple):
    """A note that is among the best, with what its priors depend on."""

    number: int
    id: str
    updated_at: str
    project: str
    confidence: float
    strength: float | None


def candidates(db: Connection, numbers: Sequence[int]) -> list[Candidate]:
    """The notes with these numbers, in their order."""
    rows = db.execute(
        "SELECT number, id, updated_at, project, confidence, json_extract(rest, '$.engram.strength') FROM memories"
        " WHERE number IN (SELECT value FROM json_each(:numbers))",
        {"numbers": json.dumps(list(numbers))},
    )
    found = {row[0]: Candidate._make((*row[:-1], _number(row[-1]))) for row in rows}
    return [found[number] for number in numbers]


def priors(db: Connection, notes: Sequence[Candidate], at_hand: str | None) -> list[dict[str, float]]:
    """What is added to the score of each note, by the reason."""
    at_hand_as = () if at_hand in (None, GLOBAL) else by_any_name(db, Filter(at_hand)).names or (at_hand,)
    moments = [_moment(note.updated_at) for note in notes]
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


def _moment(text: str) -> float | None:
    """A time in seconds; None for what is not a time with an offset."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None
