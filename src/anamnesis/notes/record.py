"""The note as a value. Construction makes texts encodable; `validate` checks whether it can be stored."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from anamnesis.errors import InvalidNote
from anamnesis.light import lazy_pattern

MemoryType = str
Scope = str
EngramValue = str | int | None
# Engram's counters.
COUNTS = ("revision_count", "duplicate_count")
# Engram's fields that change without a change of content.
TICKING = ("sync_id", *COUNTS, "last_seen_at", "created_at", "updated_at", "deleted_at")

TYPES = ("procedural", "semantic", "episodic")
SCOPES = ("portable", "machine-local")
SOURCES = ("human", "session-end", "reflection", "import")
# The longest project in UTF-8: it is a key of every index, and a hub's database refuses longer ones.
MOST_PROJECT_BYTES = 1_000
# The project of notes that are told in every project.
GLOBAL = "global"
# The tag of notes that come first for an agent.
PINNED = "pinned"
# The tag of episodes that were folded into durable notes.
REFLECTED = "reflected"

# The written order; `extra` lines follow the key that they followed in the file.
KEYS = (
    "id",
    "type",
    "title",
    "project",
    "machine_id",
    "scope",
    "prov_source",
    "confidence",
    "prov_model",
    "prov_session",
    "supersedes",
    "created_at",
    "updated_at",
    "tags",
    "engram",
)

# An id is a file name: no separator, no leading dot or dash, nothing that a file system normalises.
_ID = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}(?<!\.)")
_STAMP = lazy_pattern(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00")
_WHOLE = lazy_pattern(r"0|-?[1-9][0-9]{0,17}")
NULLS = ("", "~", "null", "Null", "NULL")
_SURROGATE = lazy_pattern("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Memory:
    """One note. Equal notes have the same text in every field, including unknown front matter."""

    id: str
    type: MemoryType
    title: str
    body: str
    project: str = "global"
    machine_id: str = "unknown"
    scope: Scope = "portable"
    tags: list[str] = field(default_factory=list)
    created_at: str = ""
    updated_at: str = ""
    prov_source: str = "human"
    prov_model: str = ""
    prov_session: str = ""
    confidence: float = 1.0
    supersedes: str | list[str] = ""
    # Engram's fields of the note; see the bridge.
    engram: dict[str, EngramValue] = field(default_factory=dict)
    # Unknown front-matter lines, verbatim, by the known key that they follow ("" before the first).
    extra: dict[str, str] = field(default_factory=dict)
    newline: str = "\n"

    def __post_init__(self) -> None:
        for name in _TEXTS:
            text = getattr(self, name)
            if not text.isascii():
                object.__setattr__(self, name, writable(text))
        for name in _TIMES:
            time = getattr(self, name)
            if not _STAMP.fullmatch(time):
                object.__setattr__(self, name, utc_time(time))
        if self.engram:
            object.__setattr__(self, "engram", {key: _writable(value) for key, value in self.engram.items()})
        if self.extra:
            object.__setattr__(self, "extra", {key: writable(lines) for key, lines in self.extra.items()})
        object.__setattr__(self, "confidence", float(self.confidence))
        object.__setattr__(self, "tags", _unique(self.tags))
        if self.supersedes:
            ids = _unique(self.supersedes)
            object.__setattr__(self, "supersedes", ids if len(ids) > 1 else "".join(ids))
        elif self.supersedes != "":
            object.__setattr__(self, "supersedes", "")

    @property
    def is_hidden(self) -> bool:
        """Whether the note is soft-deleted in Engram: its file stays, and recall skips it."""
        return bool(self.engram.get("deleted_at"))

    @property
    def superseded(self) -> list[str]:
        """The ids of the notes that this one replaces, as a list."""
        if isinstance(self.supersedes, str):
            return [self.supersedes] if self.supersedes else []
        return self.supersedes


def without_ticking(engram: dict[str, EngramValue]) -> dict[str, EngramValue]:
    """Engram's fields without those that change by themselves."""
    return {name: value for name, value in engram.items() if name not in TICKING}


# The fields that hold text; times have their own form.
_TEXTS = (*KEYS[: KEYS.index("confidence")], "body", "prov_model", "prov_session")
_SHOWN = tuple(each.name for each in fields(Memory) if each.name not in ("body", "engram", "extra", "newline"))
_TIMES = ("created_at", "updated_at")


def as_dict(memory: Memory, *, body: bool = True) -> dict[str, Any]:
    """A note as every surface returns it to programs."""
    shown = {name: getattr(memory, name) for name in _SHOWN}
    return {**shown, "body": memory.body} if body else shown


def validate(memory: Memory) -> None:
    """Refuse a note that cannot be written; the error names the field and its allowed values."""
    check_readable(memory)
    if fault := project_fault(memory.project):
        raise InvalidNote(fault, "Give it a shorter key.", field="project")


def project_fault(project: str) -> str:
    """Why a new note cannot have this project; "" if it can."""
    size = len(project.encode("utf-8", "replace"))
    return f"The project has {size:,} bytes; at most {MOST_PROJECT_BYTES:,} are possible." * (size > MOST_PROJECT_BYTES)


def check_readable(memory: Memory) -> None:
    """Refuse a text that is no note. A project that is too long for a new note is none of the reasons."""
    check_id(memory.id)
    for name, allowed in (("type", TYPES), ("scope", SCOPES), ("prov_source", SOURCES)):
        value = getattr(memory, name)
        if value not in allowed:
            raise InvalidNote(f"{name} {value!r} is not one of {', '.join(allowed)}.", field=name)
    if not memory.title.strip():
        raise InvalidNote("The title is empty.", "Give the note a short title.", field="title")
    if not math.isfinite(memory.confidence):
        reason = f"confidence {memory.confidence!r} is not a finite number."
        raise InvalidNote(reason, "Use 0.0 to 1.0.", field="confidence")
    for superseded in memory.superseded:
        check_id(superseded, "supersedes")


def check_id(text: str, field: str = "id") -> str:
    """The id, if it is safe as a file name."""
    if not _ID.fullmatch(text):
        raise InvalidNote(
            f"{_shown(text)} is not a note id.",
            "An id has up to 128 letters, digits, dots, dashes and underscores, a letter or digit first.",
            field=field,
        )
    return text


def writable(text: str) -> str:
    """The text with U+FFFD for lone surrogates, which cannot be encoded."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def plain_value(text: str) -> EngramValue:
    """The value of an unquoted word in the `engram` mapping: None, an integer, or the word."""
    if text in NULLS:
        return None
    return int(text) if _WHOLE.fullmatch(text) else text


def _writable(value: EngramValue) -> EngramValue:
    return writable(value) if isinstance(value, str) else value


def _unique(texts: str | Iterable[str]) -> list[str]:
    """One text or many as a list without blanks and duplicates."""
    each = (texts,) if isinstance(texts, str) else texts
    return list(dict.fromkeys(writable(text) for text in each if text))


# Notes that are written together have the same times.
@lru_cache(maxsize=64)
def utc_time(text: str) -> str:
    """A time in the one form that sorts as text; any other text is returned unchanged."""
    try:
        moment = datetime.fromisoformat(text.strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
    except (ValueError, OverflowError):
        return writable(text)


def file_time(nanoseconds: int) -> str:
    """The time of a file's mtime, to the second."""
    return datetime.fromtimestamp(nanoseconds // 1_000_000_000, UTC).isoformat()


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
