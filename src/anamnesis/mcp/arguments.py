"""The arguments of a tool: declared as JSON Schema, checked with one sentence per error.

Models send numbers as text and lists as JSON in text; unambiguous values are converted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from anamnesis.errors import InvalidArgument

Schema = dict[str, Any]

_NAMES = {
    "string": "a text",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list of texts",
}


def text(description: str, **more: Any) -> Schema:
    return {"type": "string", "description": description, **more}


def whole(description: str, **more: Any) -> Schema:
    return {"type": "integer", "description": description, **more}


def yes_or_no(description: str, **more: Any) -> Schema:
    return {"type": "boolean", "description": description, **more}


def count_or_no(description: str, **more: Any) -> Schema:
    """A number, or true for the default number and false for none."""
    return {"type": ["integer", "boolean"], "description": description, **more}


def texts(description: str, **more: Any) -> Schema:
    return {"type": "array", "items": {"type": "string"}, "description": description, **more}


def objects(description: str, items: Schema, **more: Any) -> Schema:
    """A list of objects, each as `parameters` declares it."""
    return {"type": "array", "items": items, "description": description, **more}


def optional(schema: Schema) -> Schema:
    """The schema with null allowed, which is also the default."""
    allowed = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return {**schema, "type": [schema["type"], "null"], **allowed, "default": None}


def parameters(**properties: Schema) -> Schema:
    """The schema of a tool's arguments; those without a default are required."""
    required = [name for name, each in properties.items() if "default" not in each]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def checked(tool: str, schema: Schema, arguments: object) -> dict[str, Any]:
    """The arguments with their defaults; raises for the first invalid one."""
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, Mapping):
        raise InvalidArgument(f"The arguments of {tool} are not an object.")
    properties: dict[str, Schema] = schema["properties"]
    for name in arguments:
        if name not in properties:
            known = ", ".join(properties) or "none"
            raise InvalidArgument(f"{tool} has no argument {name!r}.", f"It takes: {known}.")
    for name in schema["required"]:
        if name not in arguments:
            raise InvalidArgument(f"{tool} needs the argument {name!r}.")
    return {
        name: _value(name, each, arguments[name]) if name in arguments else each["default"]
        for name, each in properties.items()
    }


def _value(name: str, schema: Schema, given: object) -> Any:
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if given is None and "null" in kinds:
        return None
    kinds = [kind for kind in kinds if kind != "null"]
    if schema.get("items", {}).get("type") == "object":
        return _as_objects(name, schema["items"], given)
    value = next((value for kind in kinds if (value := _as_kind(kind, given)) is not None), None)
    if value is None:
        raise InvalidArgument(f"{name} is {_shown(given)}, but must be {', '.join(_NAMES[kind] for kind in kinds)}.")
    if "enum" in schema and value not in schema["enum"]:
        allowed = ", ".join(each for each in schema["enum"] if each is not None)
        raise InvalidArgument(f"{name} {_shown(given)} is not one of {allowed}.")
    if "minimum" in schema and value < schema["minimum"]:
        raise InvalidArgument(f"{name} is {value}, but cannot be less than {schema['minimum']}.")
    return value


def _as_kind(kind: str, given: object) -> Any:
    """The value converted to this JSON type; None if it cannot be."""
    if kind == "string":
        return given if isinstance(given, str) else None
    if kind == "boolean":
        return given if isinstance(given, bool) else {"true": True, "false": False}.get(str(given).lower())
    if kind == "integer":
        return _as_integer(given)
    return _as_texts(given)


def _as_integer(given: object) -> int | None:
    if isinstance(given, bool):
        return None
    if isinstance(given, float) and given.is_integer():
        return int(given)
    if isinstance(given, str) and given.strip().lstrip("-").isdecimal() and len(given) < 20:
        return int(given)
    return given if isinstance(given, int) else None


def _as_texts(given: object) -> list[str] | None:
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return [part.strip() for part in str(given).split(",") if part.strip()]
    if isinstance(given, list) and all(isinstance(each, str) for each in given):
        return given
    return None


def _as_objects(name: str, items: Schema, given: object) -> list[dict[str, Any]]:
    """The objects with their defaults; raises for the first invalid one."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            given = None
    if isinstance(given, dict):
        given = [given]
    if not isinstance(given, list):
        raise InvalidArgument(f"{name} must be a list of objects.")
    return [checked(f"{name}[{number}]", items, each) for number, each in enumerate(given)]


def _shown(value: object) -> str:
    try:
        shown = json.dumps(value, default=str)
    except RecursionError:
        return "a deeply nested value"
    return shown if len(shown) <= 60 else shown[:57] + "..."
