"""The queue of changes for Engram's cloud: one row per write, with Engram's payload."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from anamnesis.engram.gojson import dumps
from anamnesis.engram.record import Observation
from anamnesis.engram.strings import valid
from anamnesis.engram.twins import machine_local

TARGET = "cloud"


@dataclass(frozen=True, slots=True)
class SessionPayload:
    id: str
    project: str
    directory: str
    ended_at: str | None = None
    summary: str | None = None


@dataclass(frozen=True, slots=True)
class ObservationPayload:
    sync_id: str
    session_id: str = ""
    type: str = ""
    title: str = ""
    content: str = ""
    tool_name: str | None = None
    project: str | None = None
    scope: str = ""
    topic_key: str | None = None
    deleted: bool | None = None
    deleted_at: str | None = None
    hard_delete: bool | None = None


@dataclass(frozen=True, slots=True)
class PromptPayload:
    sync_id: str
    session_id: str
    content: str
    project: str | None


@dataclass(frozen=True, slots=True)
class QueueState:
    """How far a target has read the queue."""

    target_key: str
    lifecycle: str
    last_enqueued_seq: int
    last_acked_seq: int
    last_pulled_seq: int
    consecutive_failures: int
    backoff_until: str | None
    lease_owner: str | None
    lease_until: str | None
    last_error: str | None
    updated_at: str


def enqueue_session(db: sqlite3.Connection, payload: SessionPayload) -> None:
    _enqueue(db, [_mutation("session", payload.id, payload, payload.project)])


def enqueue_prompt(db: sqlite3.Connection, payload: PromptPayload) -> None:
    _enqueue(db, [_mutation("prompt", payload.sync_id, payload, payload.project)])


def enqueue_observations(db: sqlite3.Connection, observations: Iterable[Observation]) -> None:
    """Enqueue saved or changed observations in this order."""
    _enqueue(db, [_mutation("observation", each.sync_id, _payload(each), each.project) for each in observations])


def enqueue_deletion(db: sqlite3.Connection, sync_id: str, deleted_at: str, *, hard: bool) -> None:
    payload = ObservationPayload(sync_id, deleted=True, deleted_at=deleted_at, hard_delete=hard or None)
    _enqueue(db, [_mutation("observation", sync_id, payload, None, "delete")])


def withdraw_observations(db: sqlite3.Connection, sync_ids: Iterable[str]) -> None:
    """Delete observations' upserts with their texts from the queue. Their deletions stay."""
    db.execute(
        "DELETE FROM sync_mutations WHERE entity = 'observation' AND op = 'upsert'"
        " AND entity_key IN (SELECT value FROM json_each(:keys))",
        {"keys": json.dumps([*map(valid, sync_ids)])},
    )


def state(db: sqlite3.Connection) -> QueueState | None:
    """The state of the queue; None in a file that was never prepared."""
    row = db.execute(
        "SELECT target_key, lifecycle, last_enqueued_seq, last_acked_seq, last_pulled_seq, consecutive_failures,"
        " backoff_until, lease_owner, lease_until, last_error, updated_at FROM sync_state WHERE target_key = :target",
        {"target": TARGET},
    ).fetchone()
    return QueueState(*row) if row else None


def enqueue_project(db: sqlite3.Connection, project: str) -> None:
    """Enqueue all portable rows of a project that were never enqueued, as Engram does after renaming it."""
    values = {"project": project, "target": TARGET}
    sessions = db.execute(
        f"SELECT id, project, directory, ended_at, summary FROM sessions WHERE project = :project"
        f" AND id NOT IN ({_ENQUEUED.format('session')}) ORDER BY started_at, id",
        values,
    ).fetchall()
    observations = db.execute(
        "SELECT sync_id, session_id, type, title, content, tool_name, project, scope, topic_key FROM observations"
        f" WHERE ifnull(project, '') = :project AND deleted_at IS NULL AND sync_id NOT IN"
        f" ({_ENQUEUED.format('observation')}) AND id NOT IN ({machine_local(db)}) ORDER BY id",
        values,
    ).fetchall()
    prompts = db.execute(
        "SELECT sync_id, session_id, content, project FROM user_prompts WHERE ifnull(project, '') = :project"
        f" AND sync_id NOT IN ({_ENQUEUED.format('prompt')}) ORDER BY id",
        values,
    ).fetchall()
    _enqueue(db, [_mutation("session", row[0], SessionPayload(*row), row[1]) for row in sessions])
    _enqueue(db, [_mutation("observation", row[0], ObservationPayload(*row), row[6]) for row in observations])
    _enqueue(db, [_mutation("prompt", row[0], PromptPayload(*row), row[3]) for row in prompts])


# One query for all rows: Engram's query per row takes quadratic time.
_ENQUEUED = "SELECT entity_key FROM sync_mutations WHERE target_key = :target AND entity = '{}' AND source = 'local'"


# The fields of a payload, in its order.
_SENT = attrgetter("sync_id", "session_id", "type", "title", "content", "tool_name", "project", "scope", "topic_key")


def _payload(observation: Observation) -> ObservationPayload:
    return ObservationPayload(*_SENT(observation))


def _mutation(
    entity: str,
    key: str,
    payload: SessionPayload | ObservationPayload | PromptPayload,
    project: str | None,
    op: str = "upsert",
) -> Mapping[str, str]:
    return {
        "target": TARGET,
        "entity": entity,
        "key": valid(key),
        "op": op,
        "payload": dumps(payload).decode(),
        "project": valid(project or ""),
    }


def _enqueue(db: sqlite3.Connection, mutations: Sequence[Mapping[str, str]]) -> None:
    if not mutations:
        return
    db.execute("INSERT OR IGNORE INTO sync_state (target_key) VALUES (:target)", {"target": TARGET})
    db.executemany(
        "INSERT INTO sync_mutations (target_key, entity, entity_key, op, payload, source, project)"
        " VALUES (:target, :entity, :key, :op, :payload, 'local', :project)",
        mutations,
    )
    db.execute(
        "UPDATE sync_state SET lifecycle = 'pending', last_enqueued_seq = last_insert_rowid(),"
        " updated_at = datetime('now') WHERE target_key = :target",
        {"target": TARGET},
    )
