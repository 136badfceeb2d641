"""How a note and an observation say the same, each as the other. Pure.

A note holds in its own fields what notes have, and in `engram` only what these do not tell. What the other side cannot
hold stays where it is: `observed` and `noted` take the twin as it was, and change in it what has changed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from anamnesis.engram import projects
from anamnesis.engram.clean import Clean, cleaned
from anamnesis.engram.record import Observation, Origin
from anamnesis.engram.sessions import default_session
from anamnesis.notes import COUNTS, Memory, MemoryType, derived_id, moment_of, number_of, ulid_of, utc_time, writable
from anamnesis.notes.foreign import as_foreign
from anamnesis.notes.redaction import redact
from anamnesis.project import GLOBAL

_NO_TITLE = "Untitled"
_OWN_SYNC_ID = re.compile("obs-([0-9a-f]{32})")
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?\+00:00")

# What Engram and its agents call their observations. Any other word is semantic, and a note's own type is itself.
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


def fitting(text: str) -> str:
    """A text as a note may hold it: without secrets and without bytes that are no characters."""
    return redact(writable(text))


def note_type(kind: str) -> MemoryType:
    """The type of a note whose observation is called so."""
    return _TYPES.get(kind.strip().lower(), "semantic")


def project_name(project: str) -> str | None:
    """What Engram calls a project: the last part of its key; None for what belongs to none."""
    name = projects.short_name(project)
    return name if name and project != GLOBAL else None


def sync_id_of(note_id: str) -> str:
    """The identity of the observation of a note: the 128 bits of its ULID; of another id, those of a hash."""
    number = number_of(note_id)
    if number is None:
        number = int.from_bytes(hashlib.blake2b(note_id.encode(), digest_size=16).digest())
    return f"obs-{number:032x}"


def note_id_of(sync_id: str, created_at: str) -> str:
    """The id of the note of an observation: the ULID of its 128 bits, or one made of its time and its identity."""
    own = _OWN_SYNC_ID.fullmatch(sync_id)
    return ulid_of(int(own[1], 16)) if own else derived_id(created_at, sync_id)


def observed(note: Memory, over: Observation | None = None, clean: Clean = writable) -> Observation:
    """The note as an observation, in place of the one that was `over` it so far.

    A text of that one stays as it is where the note shows it so: the note has no secrets and no broken characters.
    """
    values = _told(note)
    values |= {name: value for name, value in note.engram.items() if name in values and _is_current(name, value, note)}
    values["deleted_at"] = str(note.engram["deleted_at"]) if note.is_hidden else None
    if over:
        values["id"] = over.id
        for name in _TEXTS:
            value = getattr(over, name)
            # Most are the same to the letter: cleaning takes a hundred times as long as comparing.
            if value is not None and value != values[name] and values[name] in (writable(value), clean(value)):
                values[name] = value
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
    """The observation as a note, in place of the one that was `over` it so far, or else a new one of this id.

    It is foreign if the observation was imported, or an import has changed what it says.
    """
    shown = cleaned(row, clean)
    # The session's folder is known by the session's own name.
    note = (
        _changed(shown, over, lambda: clean(key_of(row)))
        if over
        else _new(shown, note_id, clean(key_of(row)), machine_id)
    )
    origin = origins.get(row.id)
    if origin and (over is None or (origin.updated_at == row.updated_at and _said(note) != _said(over))):
        note = as_foreign(note, origin.name)
    told = _told(note)
    fields = {name: value for name in _KEPT if told[name] != (value := getattr(shown, name))}
    unknown = {name: value for name, value in note.engram.items() if name not in told}
    return replace(note, engram={**fields, **unknown})


def fingerprint(row: Observation) -> bytes:
    """The same for equal observations, whatever their number here."""
    return hashlib.blake2b(repr(replace(row, id=0)).encode(), digest_size=16).digest()


def says_the_same(one: Observation, other: Observation) -> bool:
    """Whether two observations differ in nothing but counters, times and whether they are deleted."""
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
    """The observation that the note's own fields make."""
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
    """Whether a field of `engram` still stands: the note's own field, if it shows it, has not been changed since."""
    if name in COUNTS:
        return isinstance(value, int)
    if value is None:
        return name in _NULLABLE and (name != "project" or note.project == GLOBAL)
    if not isinstance(value, str):
        return False
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
    """A session as a note names it: not at all, if it is the one of what was saved outside of any."""
    return "" if session == default_session(project_name(project) or "") else session


def _moment(time: str, note_id: str) -> str:
    """A note's time as Engram writes it; of a note that has none, that of its id."""
    stamp = _STAMP.fullmatch(time) or _STAMP.fullmatch(moment_of(note_id))
    return f"{stamp[1]} {stamp[2]}" if stamp else "1970-01-01 00:00:00"
