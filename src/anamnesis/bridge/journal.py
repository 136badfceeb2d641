"""The bridge's tables in engram.db: changes of observations, their revisions, and their twins among the notes."""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anamnesis.engram import schema
from anamnesis.engram.database import writing
from anamnesis.engram.normal import content_hash
from anamnesis.engram.observations import COLUMNS
from anamnesis.engram.record import Observation, Origin
from anamnesis.engram.strings import valid
from anamnesis.engram.sync_queue import enqueue_deletion, enqueue_observations, withdraw_observations
from anamnesis.engram.twins import MACHINE_LOCAL

_SCHEMA = Path(__file__).with_name("schema.sql")
# The bridge's name in the change log of the notes.
FOLLOWER = "bridge"
# The revision of a twin whose observation may have changed without a recorded revision.
UNKNOWN = -1
# A hash that no row and no file has.
INVALID = b""
_FIELDS = [name for name in Observation.__slots__ if name != "id"]


@dataclass(frozen=True, slots=True)
class Twin:
    """An observation and its note, as they were when they last agreed."""

    observation_id: int
    note_id: str
    row_hash: bytes
    note_hash: bytes | None
    front: str
    revision: int


@dataclass(frozen=True, slots=True)
class Revision:
    """A version of an observation, and when it was replaced."""

    number: int
    replaced_at: str
    observation: Observation


def prepare(db: sqlite3.Connection) -> str:
    """Create missing tables and triggers, and if any was missing, make everything pending; returns the identity."""
    if not is_prepared(db):
        with writing(db):
            made = {name for name, _ in schema.make_missing(db, _SCHEMA)}
            if made:
                mark_all_pending(db)
                _renew_identity(db)
            if any(name.startswith("anamnesis_revisions") for name in made):
                db.execute("UPDATE anamnesis_twins SET revision = :unknown", {"unknown": UNKNOWN})
    return identity(db) or begin(db)


def is_prepared(db: sqlite3.Connection) -> bool:
    """Whether engram.db has all tables and triggers of the bridge."""
    return schema.is_made(db, _SCHEMA)


def identity(db: sqlite3.Connection) -> str | None:
    """The identity of the pairing of these observations with the notes of a home; None if there is none."""
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'anamnesis_bridge'").fetchone():
        return None
    row = db.execute("SELECT identity FROM anamnesis_bridge").fetchone()
    return str(row[0]) if row else None


def begin(db: sqlite3.Connection) -> str:
    """Invalidate agreements that were made with other notes or later ones; returns the identity of a new pairing."""
    with writing(db):
        invalidate(db)
        db.execute("DELETE FROM anamnesis_revisions WHERE observation_id NOT IN (SELECT id FROM observations)")
        return _renew_identity(db)


def invalidate(db: sqlite3.Connection) -> None:
    """Invalidate the agreements: no side counts as unchanged, and no note as deleted. The front matter is kept."""
    with writing(db):
        values = {"none": INVALID, "unknown": UNKNOWN}
        db.execute("UPDATE anamnesis_twins SET row_hash = :none, note_hash = :none, revision = :unknown", values)
        mark_all_pending(db)


def is_agreed(db: sqlite3.Connection) -> bool:
    """Whether there is an agreement with a note that had a file."""
    query = "SELECT EXISTS (SELECT 1 FROM anamnesis_twins WHERE note_hash != :none)"
    return bool(db.execute(query, {"none": INVALID}).fetchone()[0])


def checkpoint(db: sqlite3.Connection) -> int:
    """The number of the last change when a bridge between these observations and a home was last opened or closed."""
    row = db.execute("SELECT seen FROM anamnesis_met").fetchone()
    return int(row[0]) if row else 0


def save_checkpoint(db: sqlite3.Connection, seen: int) -> None:
    if seen != checkpoint(db):
        with writing(db):
            db.execute("DELETE FROM anamnesis_met")
            db.execute("INSERT INTO anamnesis_met (seen) VALUES (:seen)", {"seen": seen})


def renew(db: sqlite3.Connection) -> str:
    """Make everything on both sides pending, but keep the agreements; returns the new identity."""
    with writing(db):
        mark_all_pending(db)
        return _renew_identity(db)


def mark_all_pending(db: sqlite3.Connection) -> None:
    """Make every observation pending, also removed ones that still have a twin or revisions."""
    with writing(db):
        db.execute("DELETE FROM anamnesis_changes")
        db.execute(
            "INSERT INTO anamnesis_changes (observation_id)"
            " SELECT id FROM observations UNION SELECT observation_id FROM anamnesis_twins"
            " UNION SELECT observation_id FROM anamnesis_revisions ORDER BY 1"
        )


def last_change(db: sqlite3.Connection) -> int:
    """The number of the last recorded change, also if it is no longer pending."""
    row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'anamnesis_changes'").fetchone()
    return int(row[0]) if row else 0


def changed(db: sqlite3.Connection, since: int = 0, limit: int = -1) -> dict[int, int]:
    """The observations with changes after a number, each with the number of its last change; last changed first."""
    last: dict[int, int] = {}
    rows = db.execute(
        "SELECT observation_id, seq FROM anamnesis_changes WHERE seq > :since ORDER BY seq DESC", {"since": since}
    )
    with closing(rows):
        for id, number in rows:
            if len(last) == limit:
                break
            last.setdefault(id, number)
    return last


def gone(db: sqlite3.Connection) -> list[int]:
    """The observations with pending changes that no longer exist."""
    rows = db.execute(
        "SELECT DISTINCT observation_id FROM anamnesis_changes"
        " WHERE observation_id NOT IN (SELECT id FROM observations)"
    )
    return [id for (id,) in rows]


def observations(db: sqlite3.Connection, ids: Collection[int]) -> dict[int, Observation]:
    """The observations of these ids, deleted ones too."""
    query = f"SELECT {COLUMNS} FROM observations WHERE id IN (SELECT value FROM json_each(:ids))"
    rows = db.execute(query, {"ids": _list(ids)}) if ids else ()
    return {row[0]: as_observation(row) for row in rows}


def origins(db: sqlite3.Connection, ids: Collection[int]) -> dict[int, Origin]:
    """The origins of these observations; one that was not imported has none."""
    query = (
        "SELECT observation_id, origin, updated_at FROM anamnesis_imported"
        " WHERE observation_id IN (SELECT value FROM json_each(:ids))"
    )
    rows = db.execute(query, {"ids": _list(ids)}) if ids else ()
    return {id: Origin(name, updated_at) for id, name, updated_at in rows}


def unpaired(db: sqlite3.Connection, sync_id: str) -> list[Observation]:
    """The observations with this sync id that have no twin."""
    # Without the name of the index, SQLite compares the value with the condition of a partial index, and so prepares
    # the statement again for every value.
    rows = db.execute(
        f"SELECT {COLUMNS} FROM observations INDEXED BY idx_obs_sync_id WHERE sync_id = :sync_id"
        " AND NOT EXISTS (SELECT 1 FROM anamnesis_twins WHERE observation_id = observations.id)",
        {"sync_id": sync_id},
    )
    return [as_observation(row) for row in rows]


def of_same_topics(db: sqlite3.Connection, rows: Iterable[Observation]) -> set[int]:
    """The live observations with the topic keys of these, in their projects and scopes."""
    found = db.execute(
        "SELECT observations.id FROM json_each(:topics) JOIN observations INDEXED BY idx_obs_topic"
        " ON topic_key = json_extract(value, '$[0]') AND ifnull(project, '') = json_extract(value, '$[1]')"
        " AND scope = json_extract(value, '$[2]') WHERE deleted_at IS NULL",
        {"topics": _list([row.topic_key, row.project or "", row.scope] for row in rows)},
    )
    return {id for (id,) in found}


def twins(db: sqlite3.Connection, *, of_rows: Iterable[int] = (), of_notes: Iterable[str] = ()) -> list[Twin]:
    """The twins of these observations and of these notes."""
    rows = db.execute(
        "SELECT observation_id, note_id, row_hash, note_hash, front, revision FROM anamnesis_twins"
        " WHERE observation_id IN (SELECT value FROM json_each(:rows))"
        " OR note_id IN (SELECT value FROM json_each(:notes))",
        {"rows": _list(of_rows), "notes": _list(of_notes)},
    )
    return [Twin(*row) for row in rows]


def note_ids(db: sqlite3.Connection, ids: Iterable[int]) -> list[str]:
    """The ids of the notes of these observations; an observation without a note is left out."""
    query = "SELECT note_id FROM anamnesis_twins WHERE observation_id IN (SELECT value FROM json_each(:ids))"
    return [note_id for (note_id,) in db.execute(query, {"ids": _list(ids)})]


def versions(db: sqlite3.Connection, observation_id: int, twin: Twin | None) -> tuple[Observation, ...]:
    """The replaced versions of an observation since it last agreed with its note, or all of them; oldest first."""
    last = twin.revision if twin and twin.revision != UNKNOWN else 0
    return tuple(each.observation for each in revisions(db, observation_id, after=last))


def revisions(db: sqlite3.Connection, observation_id: int, *, after: int = 0, last: int = -1) -> list[Revision]:
    """The replaced versions, the oldest first: those after a number, at most the `last` ones."""
    rows = db.execute(
        f"SELECT number, replaced_at, observation_id, {', '.join(_FIELDS)} FROM anamnesis_revisions"
        " WHERE observation_id = :id AND number > :after ORDER BY number DESC LIMIT :last",
        {"id": observation_id, "after": after, "last": last},
    )
    return [Revision(number, replaced_at, as_observation(values)) for number, replaced_at, *values in rows][::-1]


def count_revisions(db: sqlite3.Connection, observation_id: int) -> int:
    """How many replaced versions there are."""
    query = "SELECT count(*) FROM anamnesis_revisions WHERE observation_id = :id"
    return int(db.execute(query, {"id": observation_id}).fetchone()[0])


def save_row(db: sqlite3.Connection, row: Observation, over: Observation | None) -> int:
    """Update the columns in which an observation differs from the stored one, `over`, or insert it; returns its id."""
    values = _values(row)
    if over is None or row.content != over.content:
        values["normalized_hash"] = content_hash(row.content)
    if over:
        # Equal columns are not written again: they may hold bytes that are not valid text.
        values = {name: value for name, value in values.items() if value != getattr(over, name, None)}
    else:
        del values["id"]
    if over is None or row.session_id != over.session_id:
        _ensure_session(db, row)
    if over:
        assignments = ", ".join(f"{name} = {_placed(name, value)}" for name, value in values.items())
        db.execute(f"UPDATE observations SET {assignments} WHERE id = :id", {**_bound(values), "id": over.id})
        id = over.id
    else:
        names, placed = ", ".join(values), ", ".join(_placed(name, value) for name, value in values.items())
        id = db.execute(f"INSERT INTO observations ({names}) VALUES ({placed})", _bound(values)).lastrowid or 0
    if row.deleted_at:
        enqueue_deletion(db, row.sync_id, row.deleted_at, hard=False)
    else:
        enqueue_observations(db, [row])
    return id


_SAVE_TWIN = """
    INSERT OR REPLACE INTO anamnesis_twins (observation_id, note_id, row_hash, note_hash, front, revision)
    VALUES (:observation_id, :note_id, :row_hash, :note_hash, :front, ifnull(:revision,
        ifnull((SELECT max(number) FROM anamnesis_revisions WHERE observation_id = :observation_id), 0)))
"""


def save_twins(db: sqlite3.Connection, twins: Sequence[Twin]) -> None:
    """Save agreements, with the last revisions until now, and clear the observations' pending changes.

    What is machine-local does not stay in the queue for Engram's cloud.
    """
    if twins:
        db.executemany(_SAVE_TWIN, [_values(twin) | {"revision": None} for twin in twins])
        forget_changes(db, *(twin.observation_id for twin in twins))
    if local := [twin.observation_id for twin in twins if is_machine_local(twin)]:
        withdraw_observations(db, [row.sync_id for row in observations(db, local).values()])


def is_machine_local(twin: Twin) -> bool:
    """Whether the note was machine-local when both sides last agreed."""
    return MACHINE_LOCAL in twin.front.splitlines()


def save_former_twin(db: sqlite3.Connection, twin: Twin, row: Observation) -> None:
    """Save an agreement with an earlier version of an observation, if that is among the revisions."""
    numbers = [each.number for each in revisions(db, row.id) if each.observation == row]
    if numbers:
        db.execute(_SAVE_TWIN, _values(twin) | {"revision": numbers[0] - 1})


def forget_twin(db: sqlite3.Connection, twin: Twin) -> None:
    """Remove an agreement, and clear the observation's pending changes."""
    db.execute("DELETE FROM anamnesis_twins WHERE note_id = :note_id", {"note_id": twin.note_id})
    forget_changes(db, twin.observation_id)


def add_change(db: sqlite3.Connection, observation_id: int) -> None:
    """Make an observation pending, even if it has not changed or was removed."""
    db.execute("INSERT INTO anamnesis_changes (observation_id) VALUES (:id)", {"id": observation_id})


def forget_changes(db: sqlite3.Connection, *ids: int) -> None:
    query = "DELETE FROM anamnesis_changes WHERE observation_id IN (SELECT value FROM json_each(:ids))"
    db.execute(query, {"ids": _list(ids)})


def forget_gone(db: sqlite3.Connection, ids: Iterable[int]) -> None:
    """Remove the revisions of removed observations that have no pending change."""
    db.execute(
        "DELETE FROM anamnesis_revisions WHERE observation_id IN (SELECT value FROM json_each(:ids))"
        " AND observation_id NOT IN (SELECT observation_id FROM anamnesis_changes)",
        {"ids": _list(ids)},
    )


def supersede(db: sqlite3.Connection, superseding: Mapping[str, str | None]) -> None:
    """Set or clear `superseded_by` of observations, given by note ids: the superseded one, the other or None."""
    other = (
        "(SELECT sync_id FROM observations WHERE id ="
        " (SELECT observation_id FROM anamnesis_twins WHERE note_id = :other))"
    )
    query = (
        f"UPDATE observations SET superseded_by = {other}"
        " WHERE id = (SELECT observation_id FROM anamnesis_twins WHERE note_id = :note_id)"
        f" AND superseded_by IS NOT {other}"
    )
    if superseding:
        db.executemany(query, [{"note_id": note_id, "other": other} for note_id, other in superseding.items()])


def directory(db: sqlite3.Connection, session_id: str) -> str:
    """The folder of a session; "" if it is unknown."""
    row = db.execute(
        f"SELECT directory FROM sessions WHERE id = {_placed('id', session_id)}", _bound({"id": session_id})
    ).fetchone()
    return row[0] if row else ""


def _renew_identity(db: sqlite3.Connection) -> str:
    """Store a new identity, so that all notes become pending too."""
    identity = secrets.token_hex(16)
    db.execute("DELETE FROM anamnesis_bridge")
    db.execute("INSERT INTO anamnesis_bridge (identity) VALUES (:identity)", {"identity": identity})
    return identity


def _ensure_session(db: sqlite3.Connection, row: Observation) -> None:
    """Create the session of an observation if it is missing: the note may come from another machine."""
    id = _placed("id", row.session_id)
    given = {"project": valid(row.project or ""), "started_at": valid(row.created_at)}
    db.execute(
        f"INSERT INTO sessions (id, project, directory, started_at) SELECT {id}, :project, '', :started_at"
        f" WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE id = {id})",
        given | _bound({"id": row.session_id}),
    )


def _placed(name: str, value: object) -> str:
    """The placeholder of a value in a statement. A text is bound as bytes, as it may not be valid UTF-8."""
    return f"CAST(:{name} AS TEXT)" if isinstance(value, str) else f":{name}"


def _bound(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
        for name, value in values.items()
    }


def as_observation(row: Sequence[Any]) -> Observation:
    """A row as an Observation. SQLite allows bytes in a text column."""
    if bytes in map(type, row):
        row = [str(each, "utf-8", "surrogateescape") if isinstance(each, bytes) else each for each in row]
    return Observation(*row)


def _values(record: Twin | Observation) -> dict[str, Any]:
    """The fields by name. (`asdict` would deep-copy the values.)"""
    return {name: getattr(record, name) for name in record.__slots__}


def _list(values: Iterable[object]) -> str:
    return json.dumps(list(values))
