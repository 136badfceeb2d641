"""Converts a note to an observation, and an observation to a note. Pure.

A note has in `engram` only what cannot be derived from its own fields. What the other side cannot hold is kept:
`observed` and `noted` start from the existing twin, and change in it only what has changed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from anamnesis.engram import projects, topics
from anamnesis.engram.clean import Clean, cleaned
from anamnesis.engram.record import Observation, Origin
from anamnesis.engram.sessions import default_session
from anamnesis.notes import (
    COUNTS,
    Memory,
    MemoryType,
    derived_id,
    ending_of,
    has_time,
    moment_of,
    number_of,
    parse,
    ulid,
    ulid_of,
    utc_time,
    writable,
)
from anamnesis.notes.foreign import SOURCE, as_foreign
from anamnesis.notes.orders import held_by
from anamnesis.notes.record import GLOBAL
from anamnesis.notes.redaction import redact_all

_NO_TITLE = "Untitled"
# Engram's rows do not name the agent.
_CLIENT = "a client of Engram"
_OWN_SYNC_ID = re.compile("obs-([0-9a-f]{32})")
_LATEST_TIME = ulid(1 << 42, 0)  # in 2109
_SYNC_ID_LINE = "\n  sync_id: "
_ENGRAM_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?\+00:00")

# The types that Engram and its agents give observations. Any other is semantic, and a note's own type is unchanged.
_PROCEDURAL = (
    "procedural bug bugfix fix hotfix incident pattern convention guideline how-to howto how_to procedure workflow"
    " runbook recipe playbook skill"
)
_EPISODIC = "episodic session_summary session passive summary event tool_use file_change file_read search command"
_TYPES: dict[str, MemoryType] = {
    **dict.fromkeys(_PROCEDURAL.split(), "procedural"),
    **dict.fromkeys(_EPISODIC.split(), "episodic"),
}
_KEPT = [name for name in Observation.__slots__ if name not in ("id", "content")]
_TEXTS = [name for name in Observation.__slots__ if name not in ("id", *COUNTS)]
_SAID = ("title", "content", "type", "project", "scope", "topic_key", "tool_name", "session_id")
_NULLABLE = ("tool_name", "project", "topic_key", "last_seen_at", "deleted_at")


def all_writable(texts: Sequence[str]) -> list[str]:
    """The texts of an observation without invalid bytes."""
    return [*map(writable, texts)]


def fitting(texts: Sequence[str]) -> list[str]:
    """The texts of an observation as a note may hold them: without secrets and without invalid bytes."""
    return redact_all(all_writable(texts))


def note_type(kind: str) -> MemoryType:
    """The type of a note whose observation has this type."""
    return _TYPES.get(kind.strip().lower(), "semantic")


def project_name(project: str) -> str | None:
    """Engram's name of a project: the last part of its key; None for global notes."""
    name = projects.short_name(project)
    return name if name and project != GLOBAL else None


def sync_id_of(note_id: str) -> str:
    """The sync id of a note's observation: the 128 bits of the note's ULID, or of a hash if its id is not a ULID."""
    number = number_of(note_id)
    if number is None:
        number = int.from_bytes(hashlib.blake2b(note_id.encode(), digest_size=16).digest())
    return f"obs-{number:032x}"


def sync_id_in(note: Memory) -> str:
    """The sync id of a note's observation: the one that Engram gave it, or else that of the note's id."""
    given = note.engram.get("sync_id")
    return given if isinstance(given, str) else sync_id_of(note.id)


def note_id_of(sync_id: str, created_at: str) -> str:
    """The id of an observation's note: the ULID of the sync id's 128 bits, or one derived from time and sync id.

    Engram gave older rows 128 random bits, whose time as a ULID is nearly always centuries from now: their notes get
    the row's time, if it has one.
    """
    own = same_bits_id(sync_id)
    if own and own < _LATEST_TIME:
        return own
    derived = derived_id(created_at, sync_id)
    return own if own and not has_time(derived) else derived


def same_bits_id(sync_id: str) -> str:
    """The ULID of a sync id's 128 bits, whatever its time; "" if it has another form."""
    own = _OWN_SYNC_ID.fullmatch(sync_id)
    return ulid_of(int(own[1], 16)) if own else ""


@lru_cache(maxsize=1024)  # asked several times of each note that is reconciled
def owns(note_id: str, sync_id: str) -> bool:
    """Whether a note of this id is that of an observation with this sync id: of several notes with one, only one is."""
    return bool(sync_id.strip()) and (
        ending_of(note_id) == ending_of(derived_id("", sync_id))
        or note_id == same_bits_id(sync_id)
        or sync_id == sync_id_of(note_id)
    )


def is_copy(note: Memory) -> bool:
    """Whether a note has the sync id of another one: its file was copied, or its id was changed by hand."""
    given = note.engram.get("sync_id")
    return isinstance(given, str) and not owns(note.id, given)


def settled(note: Memory, front: str = "") -> Memory:
    """A note whose fields of `engram` fit it: a sync id that it owns, a key in Engram's form, a type of its own type.

    It keeps the sync id of the `front` matter of the last agreement. Of two types that do not fit, that of `engram`
    wins, unless it has not changed since.
    """
    engram, type = dict(note.engram), note.type
    if is_copy(note):
        del engram["sync_id"]
    if "sync_id" not in engram and _SYNC_ID_LINE in front and not is_copy(former := parse(front)):
        engram["sync_id"] = former.engram["sync_id"]
    if isinstance(key := engram.get("topic_key"), str):
        engram["topic_key"] = topics.normalise(key)
        if not engram["topic_key"]:
            del engram["topic_key"]
    if isinstance(kind := engram.get("type"), str) and note_type(kind) != type:
        if front and parse(front).engram.get("type") == kind:
            del engram["type"]
        else:
            type = note_type(kind)
    return note if (type, engram) == (note.type, note.engram) else replace(note, type=type, engram=engram)


def observed(
    note: Memory, over: Observation | None = None, clean: Clean = all_writable, *, now: str = ""
) -> Observation:
    """The note as an observation, based on the existing one, `over`.

    A text of `over` is kept if it equals the note's text once secrets and invalid bytes are removed from it. An edit of
    the note counts as an update by Engram, at `now` if the note has no later time; the counters never go back.
    """
    values = _told(note)
    values |= {name: value for name, value in note.engram.items() if name in values and _is_current(name, value, note)}
    values["deleted_at"] = str(note.engram["deleted_at"]) if note.is_hidden else None
    if over:
        values["id"] = over.id
        different = [name for name in _TEXTS if getattr(over, name) not in (None, values[name])]
        # Mostly none: cleaning takes a hundred times as long as comparing.
        shown = cleaned(over, clean) if different else over
        for name in different:
            value = getattr(over, name)
            if values[name] in (writable(value), getattr(shown, name)):
                values[name] = value
        is_edited = any(values[name] != getattr(over, name) for name in _SAID)
        values["revision_count"] = max(values["revision_count"], over.revision_count + is_edited)
        times = [values["updated_at"], over.updated_at]
        if is_edited and now and values["updated_at"] <= over.updated_at:
            times.append(now)
        if all(map(_ENGRAM_TIME.fullmatch, times)):
            values["updated_at"] = max(times)
    return Observation(**values)


def noted(
    row: Observation,
    over: Memory | None,
    note_id: str = "",
    *,
    key_of: Callable[[Observation], str],
    machine_id: str,
    clean: Clean,
    origins: Mapping[int, Origin] = MappingProxyType({}),
) -> Memory:
    """The observation as a note, based on the existing one, `over`, or else a new one with this id.

    It is foreign if the observation was imported, or if an import has changed its content. It has a mark if it has to
    wait for a person: only agents change observations.
    """
    shown = cleaned(row, clean)

    def key() -> str:
        # Of the original row: cleaning may change the session's id, by which its folder is found.
        return clean([key_of(row), row.title, row.content])[0]

    note = _changed(shown, over, key) if over else _new(shown, note_id, key(), machine_id)
    origin = origins.get(row.id)
    if origin and (over is None or (origin.updated_at == row.updated_at and _said(note) != _said(over))):
        note = as_foreign(note, origin.name)
    told = _told(note)
    fields = {name: value for name in _KEPT if told[name] != (value := getattr(shown, name))}
    unknown = {name: value for name, value in note.engram.items() if name not in told}
    was_held = over is not None and over.prov_source == SOURCE and over.project == GLOBAL
    return held_by(_CLIENT, over, replace(note, engram={**fields, **unknown}), was_held=was_held)


def fingerprint(row: Observation) -> bytes:
    """A hash that is the same for equal observations, whatever their row ids."""
    fields = ", ".join([f"{name}={getattr(row, name)!r}" for name in row.__slots__ if name != "id"])
    return hashlib.blake2b(f"Observation(id=0, {fields})".encode(), digest_size=16).digest()


def says_the_same(one: Observation, other: Observation) -> bool:
    """Whether two observations differ only in counters, times and deletion."""
    return all(getattr(one, name) == getattr(other, name) for name in _SAID)


def _new(row: Observation, note_id: str, project: str, machine_id: str) -> Memory:
    return Memory(
        id=note_id or note_id_of(row.sync_id, row.created_at),
        type=note_type(row.type),
        title=_shown_title(row.title),
        body=row.content,
        project=project,
        machine_id=machine_id,
        prov_source="session-end" if row.type == "session_summary" else "human",
        prov_session=_shown_session(row.session_id, project),
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def _changed(row: Observation, over: Memory, key: Callable[[], str]) -> Memory:
    before = observed(over)
    changes: dict[str, Any] = {}
    if row.project != before.project:
        changes["project"] = key()
    if row.session_id != before.session_id or row.project != before.project:
        changes["prov_session"] = _shown_session(row.session_id, changes.get("project", over.project))
    if row.type != before.type:
        changes["type"] = note_type(row.type)
    if row.title != before.title:
        changes["title"] = _shown_title(row.title)
    if row.content != before.content:
        changes["body"] = row.content
    for name in ("created_at", "updated_at"):
        if getattr(row, name) != getattr(before, name):
            changes[name] = getattr(row, name)
    return replace(over, **changes)


def _said(note: Memory) -> tuple[str, ...]:
    return note.type, note.title, note.body, note.project


def _told(note: Memory) -> dict[str, Any]:
    """The fields of an observation that are derived from the note's own fields."""
    project = project_name(note.project)
    updated_at = _moment(note.updated_at, note.id)
    return {
        "id": 0,
        "sync_id": sync_id_of(note.id),
        "session_id": note.prov_session or default_session(project or ""),
        "type": note.type,
        "title": note.title,
        "content": note.body,
        "tool_name": None,
        "project": project,
        "scope": "project",
        "topic_key": None,
        "revision_count": 1,
        "duplicate_count": 1,
        "last_seen_at": updated_at,
        "created_at": _moment(note.created_at, note.id),
        "updated_at": updated_at,
        "deleted_at": None,
    }


def _is_current(name: str, value: object, note: Memory) -> bool:
    """Whether a field of `engram` is still valid: the note's own field that depends on it has not been changed."""
    if name in COUNTS:
        return isinstance(value, int)
    if value is None:
        return name in _NULLABLE and (name != "project" or note.project == GLOBAL)
    if not isinstance(value, str):
        return False
    if name == "sync_id":
        return owns(note.id, value)
    if name == "type":
        return note_type(value) == note.type
    if name == "title":
        return _shown_title(value) == note.title
    if name == "project":
        return project_name(value) == project_name(note.project)
    if name == "session_id":
        return _shown_session(value, note.project) == note.prov_session
    if name in ("created_at", "updated_at"):
        return utc_time(value) == str(getattr(note, name))
    return name not in ("id", "content")


def _shown_title(title: str) -> str:
    return title if title.strip() else _NO_TITLE


def _shown_session(session: str, project: str) -> str:
    """A session as a note has it: empty for the default session of what was saved outside of any."""
    return "" if session == default_session(project_name(project) or "") else session


def _moment(time: str, note_id: str) -> str:
    """A note's time in Engram's format; if it has none, the time in its id."""
    stamp = _STAMP.fullmatch(time) or _STAMP.fullmatch(moment_of(note_id))
    return f"{stamp[1]} {stamp[2]}" if stamp else "1970-01-01 00:00:00"
