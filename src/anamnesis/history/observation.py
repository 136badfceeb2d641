"""The revisions of an observation, as the journal in engram.db keeps them. Knows nothing of notes and of git."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from anamnesis.bridge import journal
from anamnesis.engram.database import reading
from anamnesis.engram.record import Observation

_COMPARED = ("title", "type", "project", "scope", "topic_key", "tool_name", "session_id", "deleted_at")


@dataclass(frozen=True, slots=True)
class Spell:
    """An observation as it was from one moment to another; the present one has no end."""

    since: str
    until: str | None
    observation: Observation


@dataclass(frozen=True, slots=True)
class ObservationRevision:
    """A revision as HTTP answers it: 1 is the oldest, and `diff` is against the one before."""

    number: int
    recorded_at: str
    replaced_at: str | None
    changed: tuple[str, ...]
    diff: str
    observation: Observation


def spells(db: sqlite3.Connection, id: int) -> list[Spell]:
    """What an observation was and is, the oldest first; nothing if there is none. Deleted ones have theirs too."""
    with reading(db):
        present = journal.observations(db, [id]).get(id)
        replaced = journal.revisions(db, id) if present and has_journal(db) else []
    if present is None:
        return []
    # An update that replaced one version made the next. Of the first, only its own time is known.
    ends = [each.replaced_at for each in replaced]
    told = [*(each.observation for each in replaced), present]
    begun = [told[0].updated_at, *ends]
    return [Spell(*each) for each in zip(begun, [*ends, None], told, strict=True)]


def revisions(db: sqlite3.Connection, id: int, limit: int) -> list[ObservationRevision]:
    """The last revisions of an observation, the newest first."""
    known = spells(db, id)
    numbers = range(len(known), max(0, len(known) - limit), -1)
    return [_revision(number, known[number - 2] if number > 1 else None, known[number - 1]) for number in numbers]


def _revision(number: int, before: Spell | None, spell: Spell) -> ObservationRevision:
    from anamnesis.history.text import diff

    old, new = before.observation if before else None, spell.observation
    names = (*_COMPARED, "content")
    changed = tuple(name for name in names if old and getattr(old, name) != getattr(new, name))
    labels = (f"revision {number - 1}" if old else "/dev/null", f"revision {number}")
    difference = diff(_text(old) if old else "", _text(new), labels)
    return ObservationRevision(number, spell.since, spell.until, changed, difference, new)


def _text(observation: Observation) -> str:
    facts = ((name, getattr(observation, name)) for name in _COMPARED)
    return "".join(f"{name}: {value}\n" for name, value in facts if value) + f"\n{observation.content}"


def has_journal(db: sqlite3.Connection) -> bool:
    """Whether the bridge has ever opened this engram.db."""
    found = db.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'anamnesis_revisions'")
    return found.fetchone() is not None
