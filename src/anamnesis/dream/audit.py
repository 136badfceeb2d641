"""The audit of notes: what dreams, reviews and the gate did, from the records of changes and the log of the gate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from anamnesis.errors import AnamnesisError
from anamnesis.notes import parse
from anamnesis.notes.project_names import is_among
from anamnesis.store import MemoryStore, changeset
from anamnesis.store.changeset import ChangedFile, Changeset


class AuditFilter(NamedTuple):
    """Selects events: of a note, of a project, of a period; all by default."""

    note_id: str = ""
    project: str = ""
    since: str = ""
    until: str = ""


class AuditEvent(NamedTuple):
    """An action on notes: when, by whom (a dream, a review, the gate), what, and why.

    `id` is the id of the change, for `dream undo`, or the number in the log of the gate.
    """

    at: str
    by: str
    action: str
    notes: tuple[str, ...]
    reason: str
    id: str
    state: str


def events(store: MemoryStore, wanted: AuditFilter) -> list[AuditEvent]:
    """The events that the filter selects, the newest first."""
    found = [*_changes(store, wanted), *_decisions(store, wanted)]
    return sorted(found, key=lambda event: event.at, reverse=True)


def use(store: MemoryStore, wanted: AuditFilter) -> dict[str, int]:
    """The number of uses of the selected notes, by kind."""
    ids = [wanted.note_id] if wanted.note_id else None
    if ids is None and wanted.project:
        ids = [note.id for note in store.list(project=wanted.project)]
    totals = store.usage.every() if ids is None else store.usage.of(ids)
    counts: dict[str, int] = {}
    for _, kinds in totals.values():
        for kind, times in kinds.items():
            counts[kind] = counts.get(kind, 0) + times
    return counts


def _changes(store: MemoryStore, wanted: AuditFilter) -> Iterator[AuditEvent]:
    for change in changeset.changes(store):
        if wanted.since and change.at < wanted.since:
            break
        if not wanted.until or change.at <= wanted.until:
            projects = _projects(change)
            for event in _events_of(change):
                about = (projects.get(id, "") for id in event.notes)
                is_project = not wanted.project or is_among(wanted.project, about)
                if is_project and (not wanted.note_id or wanted.note_id in event.notes):
                    yield event


def _events_of(change: Changeset) -> Iterator[AuditEvent]:
    """One event for each proposal that a change applied; a change without proposals is one event."""
    proposals: list[Mapping[str, Any]] = [*change.facts.get("proposals", ())]
    for each in proposals:
        notes = tuple(dict.fromkeys([*each["notes"], *each["after"]]))
        yield AuditEvent(change.at, change.kind, each["kind"], notes, each["reason"], change.id, change.state)
    if not proposals and change.files:
        notes = tuple(file.note for file in change.files)
        yield AuditEvent(change.at, change.kind, change.kind, notes, change.reason, change.id, change.state)


def _projects(change: Changeset) -> dict[str, str]:
    """The project of each note that a change wrote."""
    return {file.note: project for file in change.files if (project := _project(file))}


def _project(file: ChangedFile) -> str:
    try:
        return parse(file.after or file.before or "").project
    except AnamnesisError:
        return ""


def _decisions(store: MemoryStore, wanted: AuditFilter) -> Iterator[AuditEvent]:
    since = datetime.fromisoformat(wanted.since).timestamp() if wanted.since else 0
    until = datetime.fromisoformat(wanted.until).timestamp() if wanted.until else 2**40
    for each in store.decisions.listed(since, until, wanted.note_id):
        if not wanted.project or is_among(wanted.project, [each.project]):
            at = datetime.fromtimestamp(each.at, UTC).isoformat()
            notes = tuple(id for id in (each.note_id, each.accepted) if id)
            state = "accepted" if each.accepted else ""
            yield AuditEvent(at, "gate", each.decision, notes, each.reason, str(each.id), state)
