"""Observations: save, read, change, delete and list recent ones. Every change is also enqueued for the cloud."""

from __future__ import annotations

import contextlib
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import Any, Literal

from anamnesis.engram import normal, projects, topics
from anamnesis.engram.database import Connection, NotFound, refusal, writing
from anamnesis.engram.record import Observation
from anamnesis.engram.strings import byte_length, valid
from anamnesis.engram.sync_queue import enqueue_deletion, enqueue_observations, withdraw_observations
from anamnesis.engram.twins import having_line, is_bridged
from anamnesis.erasure import overwriting

DEFAULT_RECENT = 20
# Another tool may have stored these texts as bytes; Engram reads them as text too.
COLUMNS = (
    "id, ifnull(sync_id, ''), session_id, type, CAST(title AS TEXT), CAST(content AS TEXT), tool_name, project, scope,"
    " topic_key, revision_count, duplicate_count, last_seen_at, created_at, updated_at, deleted_at"
)
# The time of a change: never before the row's own times, also after the clock was set back.
_CHANGED_AT = "max(datetime('now'), ifnull(datetime(created_at), ''), ifnull(datetime(updated_at), ''))"
_DEDUPE_WINDOW = "-15 minutes"
# The tag of a note that was folded into durable ones, as its front matter has it.
_REFLECTED = "- reflected"


@dataclass(frozen=True, slots=True)
class NewObservation:
    """An observation that a client saves."""

    session_id: str
    title: str
    content: str
    type: str = ""
    tool_name: str = ""
    project: str = ""
    scope: str = ""
    topic_key: str = ""


@dataclass(frozen=True, slots=True)
class SavedObservation:
    """The result of saving: a new row, a new revision of its topic, or a repetition of a recent row."""

    observation: Observation
    outcome: Literal["inserted", "revised", "repeated"]
    truncated_from: int | None
    """The bytes of the given content, if it was truncated."""

    @property
    def id(self) -> int:
        return self.observation.id


def add(db: sqlite3.Connection, new: NewObservation) -> SavedObservation:
    """Save an observation: as a revision of its topic, as a repetition of a recent one, or as a new row."""
    [saved] = add_all(db, [new])
    return saved


def add_all(db: sqlite3.Connection, news: Iterable[NewObservation]) -> list[SavedObservation]:
    """Save observations in one transaction, with the same result as one after the other."""
    prepared = [_prepare(new) for new in news]
    done: list[SavedObservation] = []
    fresh: dict[object, _Prepared] = {}

    def insert_fresh() -> None:
        done.extend(_insert(db, list(fresh.values())))
        known.update(_hashes(fresh.values()))
        fresh.clear()

    with writing(db):
        known = _known_hashes(db, _hashes(prepared))
        for each in prepared:
            values = each.values
            twin = _TWIN(values)
            # A row that this one may change must be inserted before the lookup.
            if values["topic_key"] or twin in fresh or len(fresh) == _MOST_ROWS:
                insert_fresh()
            if id := _of_topic(db, values):
                insert_fresh()
                db.execute(_REVISE, {**values, "id": id})
                done.append(SavedObservation(_existing(db, id), "revised", each.truncated_from))
            elif values["normalized_hash"] in known and (id := _recent_twin(db, values)):
                insert_fresh()
                db.execute(_REPEAT, {"id": id})
                done.append(SavedObservation(_existing(db, id), "repeated", each.truncated_from))
            else:
                fresh[twin] = each
        insert_fresh()
        enqueue_observations(db, [saved.observation for saved in done])
    return done


def get(db: sqlite3.Connection, id: int) -> Observation | None:
    """The live observation with an id."""
    row = db.execute(f"SELECT {COLUMNS} FROM observations WHERE id = :id AND deleted_at IS NULL", {"id": id}).fetchone()
    return Observation(*row) if row else None


def update(
    db: sqlite3.Connection, id: int, changes: Mapping[str, str | None], clean: Callable[[str], str] = str
) -> Observation:
    """Change the given fields of type, title, content, project, scope and topic_key; None means not given.

    The other texts are replaced by what `clean` makes of them.
    """
    values: dict[str, str | None] = {
        name: _PREPARED[name](value) for name, value in changes.items() if value is not None
    }
    with writing(db):
        found = _existing(db, id)
        others = {name: getattr(found, name) or "" for name in _ALSO_CLEANED if name not in values}
        values |= {name: text for name, old in others.items() if (text := clean(old)) != old}
        content = values.get("content")
        values["normalized_hash"] = normal.content_hash(found.content if content is None else content)
        assignments = ", ".join(f"{name} = :{name}" for name in values)
        db.execute(
            f"UPDATE observations SET {assignments}, revision_count = revision_count + 1, updated_at = {_CHANGED_AT}"
            " WHERE id = :id",
            {**values, "id": id},
        )
        changed = _existing(db, id)
        enqueue_observations(db, [changed])
    return changed


def delete(db: sqlite3.Connection, id: int, hard: bool = False, *, strict: bool = False) -> bool:
    """Soft-delete or hard-delete an observation; False if there is none.

    Engram's hard delete ignores a soft-deleted row and leaves the text in the cloud queue. This one does so only if
    `strict`.
    """
    with overwriting(db) if hard else contextlib.nullcontext(), writing(db):
        condition = "" if hard and not strict else " AND deleted_at IS NULL"
        found = db.execute(f"SELECT sync_id FROM observations WHERE id = :id{condition}", {"id": id}).fetchone()
        if not found:
            return False
        (sync_id,) = found
        (now,) = db.execute("SELECT datetime('now')").fetchone()
        if hard:
            db.execute("DELETE FROM observations WHERE id = :id", {"id": id})
            if not strict:
                withdraw_observations(db, [sync_id or ""])
        else:
            db.execute(
                f"UPDATE observations SET deleted_at = :now, updated_at = {_CHANGED_AT} WHERE id = :id",
                {"id": id, "now": now},
            )
        enqueue_deletion(db, sync_id or "", now, hard=hard)
    return True


def recent(
    db: sqlite3.Connection, project: str = "", scope: str = "", limit: int = 0, *, unreflected: bool = False
) -> list[Observation]:
    """The newest live observations that are not superseded, optionally of a project and a scope.

    `unreflected` leaves out those whose notes were folded into durable ones.
    """
    name = projects.meant(db, project)
    index, condition = ("anamnesis_obs_project", "AND project = :project") if name else ("anamnesis_obs_recent", "")
    if unreflected and is_bridged(db):
        twin = f"SELECT 1 FROM anamnesis_twins WHERE observation_id = observations.id AND {having_line(_REFLECTED)}"
        condition += f" AND NOT EXISTS ({twin})"  # looks at the rows that are returned, not at all
    rows = db.execute(
        f"SELECT {COLUMNS} FROM observations INDEXED BY {index}"
        f" WHERE deleted_at IS NULL AND superseded_by IS NULL {condition} {'AND scope = :scope' if scope else ''}"
        " ORDER BY created_at DESC, id DESC LIMIT :limit",
        {"project": name, "scope": normal.scope(scope), "limit": limit if limit > 0 else DEFAULT_RECENT},
    )
    return [Observation(*row) for row in rows]


def new_sync_id(prefix: str) -> str:
    """A new sync_id in Engram's form."""
    return f"{prefix}-{secrets.token_hex(8)}"


def of_same_project(project: str | None) -> str:
    """The SQL condition for a project; rows without one have NULL or an empty name."""
    return "project = :project" if project else "ifnull(project, '') = ''"


# How `update` prepares each column.
_PREPARED: dict[str, Callable[[str], str | None]] = {
    "type": valid,
    "title": normal.without_private,
    "content": lambda text: normal.to_size(normal.without_private(text)),
    "project": lambda text: projects.normalise(text) or None,
    "scope": normal.scope,
    "topic_key": lambda text: topics.normalise(text) or None,
}
_ALSO_CLEANED = ("title", "content", "topic_key")
_REVISE = f"""
    UPDATE observations SET type = :type, title = :title, content = :content, tool_name = :tool_name,
        topic_key = :topic_key, normalized_hash = :normalized_hash, revision_count = revision_count + 1,
        last_seen_at = datetime('now'), updated_at = {_CHANGED_AT}
    WHERE id = :id
"""
_REPEAT = f"""
    UPDATE observations SET duplicate_count = duplicate_count + 1, last_seen_at = datetime('now'),
        updated_at = {_CHANGED_AT}
    WHERE id = :id
"""
# The columns that make an observation a repetition of another.
_TWIN = itemgetter("normalized_hash", "project", "scope", "type", "title")
_GIVEN = ("sync_id", "session_id", "type", "title", "content", "tool_name", "project", "scope", "topic_key")
_INSERTED = (*_GIVEN, "normalized_hash")
_STORED, _CELLS = itemgetter(*_GIVEN), itemgetter(*_INSERTED)
# Each number of rows is a separate prepared statement, and larger ones are hardly faster.
_MOST_ROWS = 32


@dataclass(frozen=True, slots=True)
class _Prepared:
    """An observation as stored, and the bytes of its content if it was truncated."""

    values: Mapping[str, str | None]
    truncated_from: int | None


def _prepare(new: NewObservation) -> _Prepared:
    whole = normal.without_private(new.content)
    content = normal.to_size(whole)
    values = {
        "session_id": valid(new.session_id),
        "type": valid(new.type),
        "title": normal.without_private(new.title),
        "content": content,
        "tool_name": valid(new.tool_name) or None,
        "project": projects.normalise(new.project) or None,
        "scope": normal.scope(new.scope),
        "topic_key": topics.normalise(new.topic_key) or None,
        "normalized_hash": normal.content_hash(content),
        "sync_id": new_sync_id("obs"),
        "window": _DEDUPE_WINDOW,
    }
    return _Prepared(values, byte_length(new.content) if content is not whole else None)


def _of_topic(db: sqlite3.Connection, values: Mapping[str, str | None]) -> int | None:
    """The live observation with the topic key."""
    if not values["topic_key"]:
        return None
    row = db.execute(
        "SELECT id FROM observations INDEXED BY idx_obs_topic WHERE topic_key = :topic_key"
        f" AND {of_same_project(values['project'])} AND scope = :scope AND deleted_at IS NULL"
        " ORDER BY datetime(updated_at) DESC, datetime(created_at) DESC LIMIT 1",
        values,
    ).fetchone()
    return row[0] if row else None


def _hashes(prepared: Iterable[_Prepared]) -> list[str | None]:
    return [each.values["normalized_hash"] for each in prepared]


def _known_hashes(db: sqlite3.Connection, hashes: Sequence[str | None]) -> set[str | None]:
    """Those of the hashes that an observation has: one query for all takes less than one each."""
    query = (
        "SELECT DISTINCT normalized_hash FROM observations INDEXED BY idx_obs_dedupe"
        f" WHERE normalized_hash IN ({', '.join('?' * len(hashes))})"
    )
    return {hash for (hash,) in db.execute(query, hashes)}


def _recent_twin(db: sqlite3.Connection, values: Mapping[str, str | None]) -> int | None:
    """A recent live observation with the same content."""
    row = db.execute(
        "SELECT id FROM observations INDEXED BY idx_obs_dedupe WHERE normalized_hash = :normalized_hash"
        f" AND {of_same_project(values['project'])} AND scope = :scope AND type = :type AND title = :title"
        " AND deleted_at IS NULL AND datetime(created_at) >= datetime('now', :window)"
        " ORDER BY created_at DESC LIMIT 1",
        values,
    ).fetchone()
    return row[0] if row else None


def _insert(db: sqlite3.Connection, fresh: Sequence[_Prepared]) -> list[SavedObservation]:
    """Insert rows with one statement: SQLite updates the word index once per statement."""
    if not fresh:
        return []
    try:
        cells = [cell for each in fresh for cell in _CELLS(each.values)]
        rows = db.execute(_insertion(len(fresh)), cells).fetchall()
    except sqlite3.IntegrityError as error:
        raise refusal(error) from error
    inserted = [_inserted(id, now, each.values) for each, (id, now) in zip(fresh, sorted(rows), strict=True)]
    if isinstance(db, Connection):
        db.added |= {row.id: row for row in inserted}
    return [SavedObservation(row, "inserted", each.truncated_from) for row, each in zip(inserted, fresh, strict=True)]


def _inserted(id: int, now: str, values: Mapping[str, Any]) -> Observation:
    """A new row as it is stored."""
    return Observation(*(id, *_STORED(values), 1, 1, now, now, now, None))


@cache
def _insertion(rows: int) -> str:
    now = "datetime('now')"
    row = f"({', '.join('?' * len(_INSERTED))}, 1, 1, {now}, {now}, {now})"
    return (
        f"INSERT INTO observations ({', '.join(_INSERTED)}, revision_count, duplicate_count, last_seen_at, created_at,"
        f" updated_at) VALUES {', '.join([row] * rows)} RETURNING id, created_at"
    )


def _existing(db: sqlite3.Connection, id: int) -> Observation:
    found = get(db, id)
    if not found:
        raise NotFound
    return found
