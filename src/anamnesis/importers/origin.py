"""The origin and the foreign fields of an imported note, as one mapping in its front matter. Pure.

    imported:
      from: claude-mem
      key: "observation/4f3a/12"
      files_read: ["src/a.py"]

The nesting prevents that a foreign key is taken for one of ours, or marks a note as edited or outdated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from anamnesis.notes import Memory, writable
from anamnesis.notes.redaction import redact

_AFTER = "tags"
_BLOCK = re.compile(r"^imported:\n(?:  .*\n)*", re.MULTILINE)
_PLAIN_KEY = re.compile(r"(?!(?:y|n|yes|no|on|off|true|false|null)\Z)[A-Za-z_][\w-]{0,60}", re.ASCII | re.IGNORECASE)
# Values that YAML reads as this text.
_PLAIN = re.compile(r"(?!(?:y|n|yes|no|on|off|true|false|null)\Z)[A-Za-z][\w./-]{0,60}", re.ASCII | re.IGNORECASE)
# Characters that JSON does not escape, but YAML rejects or reads as line ends.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_DEEPEST = 20


def with_origin(note: Memory, fields: Mapping[str, Any]) -> Memory:
    """The note with these fields in place of those of an earlier import."""
    extra = {key: _BLOCK.sub("", lines) for key, lines in note.extra.items()}
    extra[_AFTER] = extra.get(_AFTER, "") + _block(fields)
    return replace(note, extra={key: lines for key, lines in extra.items() if lines})


def plain_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Foreign values as JSON values, without empty ones and without secrets."""
    clean = {redact(str(key)): _clean(value, redact(str(key))) for key, value in fields.items()}
    return {key: value for key, value in clean.items() if value not in (None, "", [], {})}


def _block(fields: Mapping[str, Any]) -> str:
    lines = [f"  {_key(key)}: {_value(value)}\n" for key, value in fields.items()]
    return "".join(["imported:\n", *lines]) if lines else ""


def _key(key: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) else _json(key)


def _value(value: Any) -> str:
    return value if isinstance(value, str) and _PLAIN.fullmatch(value) else _json(value)


def _json(value: Any) -> str:
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


def _clean(value: Any, name: str, depth: int = 0) -> Any:
    """A JSON value without secrets, some of which are recognised only by their key."""
    if isinstance(value, bool | int) or value is None:
        return value
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    if isinstance(value, Mapping) and depth < _DEEPEST:
        return {redact(writable(str(key))): _clean(each, str(key), depth + 1) for key, each in value.items()}
    if isinstance(value, list | tuple) and depth < _DEEPEST:
        return [_clean(each, name, depth + 1) for each in value]
    text = redact(writable(value if isinstance(value, str) else str(value)))
    named = f"{name}={text}"
    return text if redact(named) == named else redact(named).removeprefix(f"{name}=")
