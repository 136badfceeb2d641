"""A client's request and the model's answer, independent of any vendor's protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of the model. Clients prefix the names of tools, so `tool` is the end of the name.

    `arguments` may be computed from the previous result.
    """

    tool: str
    arguments: dict[str, Any] | Callable[[str], dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as a client offers it; a namespace is part of a call's name in some dialects."""

    name: str
    namespace: str = ""
    is_deferred: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """One request of a client. `results` are the tool results in it, `schema` the JSON schema that it asks for."""

    dialect: str
    body: dict[str, Any]
    tools: tuple[Tool, ...] = ()
    results: tuple[str, ...] = ()
    schema: dict[str, Any] | None = None
    streamed: bool = False

    @property
    def text(self) -> str:
        """All strings of the request."""
        return "\n".join(strings(self.body))

    def tool(self, name: str) -> Tool | None:
        """The offered tool with this name, with or without a client's prefix."""
        ready = [tool for tool in self.tools if not tool.is_deferred]
        return next(
            (tool for tool in ready if tool.name == name or tool.name.endswith((f"_{name}", f".{name}", f"-{name}"))),
            None,
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer: a text or a tool call. `tokens` is the size reported for the request."""

    text: str = ""
    tool: Tool | None = None
    arguments: dict[str, Any] = field(default_factory=dict)
    tokens: int = 100
    number: int = 0


def strings(value: Any) -> Iterator[str]:
    """Every string in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from strings(each)


def joined(value: Any) -> str:
    """The strings of a JSON value as one text."""
    return "\n".join(strings(value))


def instance(schema: dict[str, Any]) -> Any:
    """A small value that fits a JSON schema, with the first of each choice."""
    kind = schema.get("type", "")
    kind = str(kind[0] if isinstance(kind, list) else kind).lower()
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    for key in ("anyOf", "oneOf"):
        if schema.get(key):
            return instance(schema[key][0])
    if kind == "object" or "properties" in schema:
        return {name: instance(each) for name, each in schema.get("properties", {}).items()}
    if kind == "array":
        return [instance(schema["items"])] if schema.get("minItems") else []
    plain = {"integer": max(1, int(schema.get("minimum", 1))), "number": 1.0, "boolean": False, "null": None}
    return plain.get(kind, "A session about the payment export")
