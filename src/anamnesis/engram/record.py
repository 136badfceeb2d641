"""Engram's rows and answers as values. Fields have Go's names and order, because JSON is written from them.

Texts from the database may hold lone surrogates: invalid bytes that Engram stored.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar


@dataclass(frozen=True, slots=True)
class Observation:
    id: int
    sync_id: str
    session_id: str
    type: str
    title: str
    content: str
    tool_name: str | None
    project: str | None
    scope: str
    topic_key: str | None
    revision_count: int
    duplicate_count: int
    last_seen_at: str | None
    created_at: str
    updated_at: str
    deleted_at: str | None


@dataclass(frozen=True, slots=True)
class SearchResult(Observation):
    """An observation found by a search; the lowest rank is the best. `tokens` is an estimate, if it was asked for."""

    rank: float
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Session:
    id: str
    project: str
    directory: str
    started_at: str
    ended_at: str | None
    summary: str | None


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A session in the list of recent ones, with the number of its live observations."""

    id: str
    project: str
    started_at: str
    ended_at: str | None
    summary: str | None
    observation_count: int


@dataclass(frozen=True, slots=True)
class Prompt:
    """A user's prompt. The project is None if empty: Engram omits it then."""

    id: int
    sync_id: str
    session_id: str
    content: str
    project: str | None
    created_at: str


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """An observation before or after another one."""

    id: int
    session_id: str
    type: str
    title: str
    content: str
    tool_name: str | None
    project: str | None
    scope: str
    topic_key: str | None
    revision_count: int
    duplicate_count: int
    last_seen_at: str | None
    created_at: str
    updated_at: str
    deleted_at: str | None
    is_focus: bool


@dataclass(frozen=True, slots=True)
class Timeline:
    focus: Observation
    before: tuple[TimelineEntry, ...]
    after: tuple[TimelineEntry, ...]
    session_info: Session | None
    total_in_range: int


@dataclass(frozen=True, slots=True)
class Stats:
    total_sessions: int
    total_observations: int
    total_prompts: int
    projects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Export:
    version: str
    exported_at: str
    sessions: tuple[Session, ...]
    observations: tuple[Observation, ...]
    prompts: tuple[Prompt, ...]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an observation was imported from, and its time then."""

    name: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class ImportResult:
    sessions_imported: int
    observations_imported: int
    prompts_imported: int


@dataclass(frozen=True, slots=True)
class MigrateResult:
    migrated: bool
    observations_updated: int
    sessions_updated: int
    prompts_updated: int


@dataclass(frozen=True, slots=True)
class MergeResult:
    canonical: str
    sources_merged: tuple[str, ...]
    observations_updated: int
    sessions_updated: int
    prompts_updated: int


@dataclass(frozen=True, slots=True)
class PassiveResult:
    extracted: int
    saved: int
    duplicates: int


Row = TypeVar("Row", bound=Observation | TimelineEntry)


class Marking(Protocol):
    """Returns rows as a client gets them: the texts of those that are not the user's own say so.

    `unasked` leaves out those that wait for the user's review and are not told unasked.
    """

    def __call__(self, db: sqlite3.Connection, rows: Sequence[Row], *, unasked: bool = False) -> list[Row]: ...


def unmarked(db: sqlite3.Connection, rows: Sequence[Row], *, unasked: bool = False) -> list[Row]:  # noqa: ARG001
    """The rows as they are stored."""
    return [*rows]


def nothing_waits(_text: str) -> bool:
    """Leaves no text out."""
    return False


def marked_timeline(db: sqlite3.Connection, found: Timeline, marking: Marking) -> Timeline:
    before, after = marking(db, found.before), marking(db, found.after)
    return replace(found, focus=marking(db, [found.focus])[0], before=tuple(before), after=tuple(after))
