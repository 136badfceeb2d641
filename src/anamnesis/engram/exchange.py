"""Exports everything as one value, and imports it. Importing twice changes nothing."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace

from anamnesis.engram import VERSION, normal, observations, projects, prompts, sessions, topics
from anamnesis.engram.clean import Clean, cleaned
from anamnesis.engram.database import Refused, reading, refusal, writing
from anamnesis.engram.gojson import dumps
from anamnesis.engram.record import Export, ImportResult, Observation, Prompt, Session
from anamnesis.engram.strings import trim_space, valid
from anamnesis.engram.twins import machine_local
from anamnesis.plural import counted, listed


def export(
    db: sqlite3.Connection,
    project: str | None = None,
    *,
    clean: Clean = list,
    left_out: Callable[[str], object] = lambda _: None,
) -> Export:
    """All sessions, observations (also deleted ones) and prompts; or those of a project, with their sessions.

    An export leaves this machine, so every text is cleaned, and machine-local observations are left out: an import
    would make them portable. So are the sessions that have no other observations, with their prompts. `left_out` gets
    the counts in words.
    """
    of_project = used = "TRUE"
    if project is not None:
        of_project = "(project = :project OR session_id IN (SELECT id FROM sessions WHERE project = :project))"
        used = (
            f"(project = :project OR id IN (SELECT session_id FROM observations WHERE {of_project})"
            f" OR id IN (SELECT session_id FROM user_prompts WHERE {of_project}))"
        )
    values = {"project": valid(project or "")}
    with reading(db):
        (now,) = db.execute("SELECT datetime('now')").fetchone()
        local, secluded = _machine_local(db)
        found = (
            db.execute(f"SELECT {sessions.COLUMNS} FROM sessions WHERE {used} ORDER BY started_at, rowid", values),
            db.execute(f"SELECT {observations.COLUMNS} FROM observations WHERE {of_project} ORDER BY id", values),
            db.execute(f"SELECT {prompts.COLUMNS} FROM user_prompts WHERE {of_project} ORDER BY id", values),
        )
        everything = Export(
            version=VERSION,
            exported_at=now,
            sessions=tuple(Session(*row) for row in found[0]),
            observations=tuple(Observation(*row) for row in found[1]),
            prompts=tuple(Prompt(*row) for row in found[2]),
        )
    portable = replace(
        everything,
        sessions=tuple(each for each in everything.sessions if each.id not in secluded),
        observations=tuple(each for each in everything.observations if each.id not in local),
        prompts=tuple(each for each in everything.prompts if each.session_id not in secluded),
    )
    if portable != everything:
        left_out(_difference(everything, portable))
    return cleaned(portable, clean)


def _machine_local(db: sqlite3.Connection) -> tuple[set[int], set[str]]:
    """The observations whose notes are machine-local, and the sessions that have no others."""
    twins = machine_local(db)
    local = {id for (id,) in db.execute(twins)}
    only = f"SELECT session_id FROM observations GROUP BY session_id HAVING min(id IN ({twins}))"
    return local, {id for (id,) in db.execute(only)} if local else set()


def _difference(everything: Export, portable: Export) -> str:
    """How many rows of each kind an export lacks, in words."""
    kinds = ("observations", "sessions", "prompts")
    counts = {kind: len(getattr(everything, kind)) - len(getattr(portable, kind)) for kind in kinds}
    return listed(counted(count, kind.removesuffix("s")) for kind, count in counts.items() if count)


def import_(
    db: sqlite3.Connection,
    data: Export,
    origin: str = "unknown",
    *,
    strict: bool = False,
    skipped: Callable[[Observation], object] = lambda _: None,
) -> ImportResult:
    """Import new rows and newer observations, in one transaction.

    The origin is recorded for each observation whose text comes from it. If `strict`, names of projects are not
    normalised. `skipped` gets each observation that says something else than a newer or deleted one here.
    """
    with writing(db):
        return ImportResult(
            sum(_import_session(db, _bound(each, strict)) for each in data.sessions),
            sum(
                _import_observation(db, each, _bound(each, strict), origin, skipped)
                for each in _with_own_sync_ids(db, data.observations)
            ),
            sum(_import_prompt(db, each, _bound(each, strict)) for each in data.prompts),
        )


def _with_own_sync_ids(db: sqlite3.Connection, rows: Iterable[Observation]) -> Iterator[Observation]:
    """The rows; of different ones that share a sync id, all but one without it, so that each is imported."""
    sharing: dict[str, dict[tuple[str, str], Observation]] = {}
    for row in rows:
        sharing.setdefault(row.sync_id if trim_space(row.sync_id) else f"row {row.id}", {}).setdefault(_text(row), row)
    for shared in sharing.values():
        first = next(iter(shared.values()))
        if len(shared) > 1:
            query = "SELECT title, content FROM observations WHERE sync_id = :sync_id ORDER BY id DESC LIMIT 1"
            first = shared.get(db.execute(query, {"sync_id": valid(first.sync_id)}).fetchone(), first)
        yield from (row if row is first else replace(row, sync_id="") for row in shared.values())


def _text(row: Observation) -> tuple[str, str]:
    return row.title, row.content


def _import_session(db: sqlite3.Connection, values: dict[str, object]) -> bool:
    """Add a session; an existing one gets end and summary if it lacks them."""
    added = _execute(
        db,
        f"INSERT OR IGNORE INTO sessions ({sessions.COLUMNS})"
        " VALUES (:id, :project, :directory, :started_at, :ended_at, :summary)",
        values,
        f"import session {values['id']}",
    )
    if not added and (values["ended_at"] or values["summary"]):
        db.execute(
            "UPDATE sessions SET ended_at = coalesce(ended_at, :ended_at), summary = coalesce(summary, :summary)"
            " WHERE id = :id AND (ended_at IS NULL OR summary IS NULL)",
            values,
        )
    return added


def _import_observation(
    db: sqlite3.Connection,
    observation: Observation,
    values: dict[str, object],
    origin: str,
    skipped: Callable[[Observation], object],
) -> bool:
    values |= {
        "sync_id": _identity("obs", observation),
        "scope": normal.scope(observation.scope),
        "topic_key": topics.normalise(observation.topic_key or "") or None,
        "normalized_hash": normal.content_hash(observation.content),
        "revision_count": max(observation.revision_count, 1),
        "duplicate_count": max(observation.duplicate_count, 1),
    }
    known = db.execute(
        f"SELECT id, updated_at, {', '.join(_SAID)}, deleted_at FROM observations WHERE sync_id = :sync_id"
        " ORDER BY id DESC LIMIT 1",
        values,
    ).fetchone()
    *said, deleted_at = known[2:] if known else (None,)
    is_same = said == [values[name] for name in _SAID]
    if known and known[1] >= observation.updated_at:
        if not is_same or (deleted_at and not observation.deleted_at):
            skipped(observation)
        return False
    if known:
        values["id"] = known[0]
        sql = f"UPDATE observations SET {', '.join(f'{name} = :{name}' for name in _COLUMNS)} WHERE id = :id"
    else:
        sql = f"INSERT INTO observations ({', '.join(_COLUMNS)}) VALUES ({', '.join(f':{name}' for name in _COLUMNS)})"
    added = _execute(db, sql, values, f"import observation {observation.id}")
    if not is_same:
        db.execute(_MARK, {**values, "known": known and known[0], "origin": valid(origin)})
    else:
        db.execute("UPDATE anamnesis_imported SET updated_at = :updated_at WHERE observation_id = :id", values)
    return added


def _import_prompt(db: sqlite3.Connection, prompt: Prompt, values: dict[str, object]) -> bool:
    values |= {"sync_id": _identity("prompt", prompt), "project": values["project"] or ""}
    return _execute(
        db,
        "INSERT INTO user_prompts (sync_id, session_id, content, project, created_at)"
        " SELECT :sync_id, :session_id, :content, :project, :created_at"
        " WHERE NOT EXISTS (SELECT 1 FROM user_prompts WHERE sync_id = :sync_id)",
        values,
        f"import prompt {prompt.id}",
    )


_COLUMNS = (
    "sync_id", "session_id", "type", "title", "content", "tool_name", "project", "scope", "topic_key",
    "normalized_hash", "revision_count", "duplicate_count", "last_seen_at", "created_at", "updated_at", "deleted_at",
)  # fmt: skip


# The columns that an agent reads.
_SAID = ("type", "title", "content", "project")
_MARK = """
    INSERT OR REPLACE INTO anamnesis_imported (observation_id, origin, updated_at)
    VALUES (ifnull(:known, last_insert_rowid()), :origin, :updated_at)
"""


def _bound(row: Session | Observation | Prompt, strict: bool) -> dict[str, object]:
    """The fields of a row, with valid texts, and with its project under its normal name unless `strict`."""
    values = {field.name: getattr(row, field.name) for field in fields(row)}
    if row.project and not strict:
        values["project"] = projects.normalise(row.project)
    return {name: valid(value) if isinstance(value, str) else value for name, value in values.items()}


def _identity(prefix: str, row: Observation | Prompt) -> str:
    """The row's sync_id, or one derived from its content, so that importing it again finds it."""
    if trim_space(row.sync_id):
        return valid(row.sync_id)
    return f"{prefix}-{hashlib.sha256(dumps(row)).hexdigest()[:16]}"


def _execute(db: sqlite3.Connection, sql: str, values: dict[str, object], action: str) -> bool:
    """Whether the statement changed a row."""
    try:
        return db.execute(sql, values).rowcount > 0
    except sqlite3.IntegrityError as error:
        raise Refused(f"{action}: {refusal(error).message}") from error
