"""The revisions of an observation from the journal in engram.db. Knows nothing of notes or git."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from anamnesis.bridge import journal
from anamnesis.engram.database import reading
from anamnesis.engram.record import Observation

_COMPARED = ("title", "type", "project", "scope", "topic_key", "tool_name", "session_id", "deleted_at")


@dataclass(frozen=True, slots=True)
class ObservationState:
    """The state of an observation during a period; the current one has no end."""

    since: str
    until: str | None
    observation: Observation


@dataclass(frozen=True, slots=True)
class ObservationRevision:
    """A revision as HTTP returns it: 1 is the oldest, and `diff` is against the one before."""

    number: int
    recorded_at: str
    replaced_at: str | None
    changed: tuple[str, ...]
    diff: str
    observation: Observation


def states(db: sqlite3.Connection, id: int, replaced: int = -1) -> list[ObservationState]:
    """The states of an observation, the oldest first; none if it does not exist. Deleted ones are included.

    `replaced` limits the journal's versions to the last ones; the start of the first of them is then not known.
    """
    with reading(db):
        present = journal.observations(db, [id]).get(id)
        were = journal.revisions(db, id, last=replaced) if present and has_journal(db) else []
    if present is None:
        return []
    # The update that replaced a version started the next. Of the first, only its own time is known.
    ends = [each.replaced_at for each in were]
    values = [*(each.observation for each in were), present]
    begun = [values[0].updated_at, *ends]
    return [ObservationState(*each) for each in zip(begun, [*ends, None], values, strict=True)]


def revisions(db: sqlite3.Connection, id: int, limit: int) -> list[ObservationRevision]:
    """The last revisions of an observation, the newest first."""
    with reading(db):
        known = states(db, id, limit)
        count = 1 + (journal.count_revisions(db, id) if len(known) > 1 else 0)
    with_before = [*zip([None, *known], known, strict=False)][-limit:]
    numbers = range(count, 0, -1)
    return [_revision(number, *each) for number, each in zip(numbers, reversed(with_before), strict=False)]


def _revision(number: int, before: ObservationState | None, state: ObservationState) -> ObservationRevision:
    from anamnesis.history.diffs import diff

    old, new = before.observation if before else None, state.observation
    names = (*_COMPARED, "content")
    changed = tuple(name for name in names if old and getattr(old, name) != getattr(new, name))
    labels = (f"revision {number - 1}" if old else "/dev/null", f"revision {number}")
    difference = diff(_text(old) if old else "", _text(new), labels)
    return ObservationRevision(number, state.since, state.until, changed, difference, new)


def _text(observation: Observation) -> str:
    facts = ((name, getattr(observation, name)) for name in _COMPARED)
    return "".join(f"{name}: {value}\n" for name, value in facts if value) + f"\n{observation.content}"


def has_journal(db: sqlite3.Connection) -> bool:
    """Whether the bridge has ever opened this engram.db."""
    found = db.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'anamnesis_revisions'")
    return found.fetchone() is not None
