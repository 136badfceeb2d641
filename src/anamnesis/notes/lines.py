"""Notes as JSON lines, with every field of the record, so that nothing is lost. Pure."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from anamnesis.errors import InvalidNote
from anamnesis.notes.record import Memory, validate

_NAMES = tuple(each.name for each in fields(Memory))
_TEXTS = {each.name for each in fields(Memory) if each.type in ("str", "MemoryType", "Scope")}


def as_line(note: Memory) -> str:
    return json.dumps({name: getattr(note, name) for name in _NAMES}, ensure_ascii=False)


def from_value(value: Any) -> Memory:
    """The note of a line's value. Missing fields get their defaults; a wrong type is refused."""
    if not isinstance(value, dict):
        raise InvalidNote("It is not a note.")
    values = {name: value[name] for name in _NAMES if name in value}
    wrong = next((name for name in values if name in _TEXTS and not isinstance(values[name], str)), None)
    wrong = wrong or next(
        (name for name, is_valid in _FORMS.items() if name in values and not is_valid(values[name])), None
    )
    if wrong or not {"id", "type", "title", "body"} <= values.keys():
        raise InvalidNote(f"{wrong} has a wrong type." if wrong else "It has no id, type, title or body.")
    note = Memory(**values)
    validate(note)
    return note


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_plain(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(each, str | int | None) for each in value.values())


def _is_lines(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())


_FORMS = {
    "tags": _is_texts,
    "supersedes": lambda value: isinstance(value, str) or _is_texts(value),
    "confidence": lambda value: isinstance(value, int | float),
    "engram": _is_plain,
    "extra": _is_lines,
}
