"""A tool of Engram's dialect: it answers in one text, and takes its arguments as Go's type assertions do."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anamnesis.engram.gotext import truncated
from anamnesis.engram.strings import valid
from anamnesis.errors import AnamnesisError
from anamnesis.mcp.dispatcher import Message, Work, text_result, unwrapped
from anamnesis.mcp.schema import Schema

if TYPE_CHECKING:
    from anamnesis.notes.cleaning import Cleaning


class Unusable(Exception):
    """Arguments that a tool can do nothing with; the message is its answer."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What the tools work on: a connection for each call, and the project of a caller who names none."""

    database: Callable[[], AbstractContextManager[sqlite3.Connection]]
    default_project: Callable[[], str] = str
    strict: bool = False

    def raw_project(self, given: Arguments) -> str:
        return given.text("project") or given.cleaning(self.default_project())

    def project(self, given: Arguments) -> str:
        from anamnesis.engram import projects  # 20 ms that the list of tools need not wait for

        return projects.normalise(self.raw_project(given))


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a client sent, redacted. Anything of the wrong kind counts as not given, and so does what no tool knows."""

    sent: Mapping[str, object]
    cleaning: Cleaning

    def text(self, name: str) -> str:
        return self.optional(name) or ""

    def optional(self, name: str) -> str | None:
        value = self.sent.get(name)
        return self.cleaning(valid(value)) if isinstance(value, str) else None

    def as_sent(self, name: str) -> str:
        """A text that is not stored: what is looked for may be there since before secrets were redacted."""
        value = self.sent.get(name)
        return valid(value) if isinstance(value, str) else ""

    def number(self, name: str, default: int = 0) -> int:
        value = self.sent.get(name)
        if not isinstance(value, int | float) or isinstance(value, bool):
            return default
        try:
            return truncated(float(value))
        except OverflowError:
            return truncated(math.inf)

    def flag(self, name: str) -> bool:
        return self.sent.get(name) is True


Call = Callable[[Memory, Arguments], str]


@dataclass(frozen=True, slots=True)
class TextTool:
    """A tool that agents may call, and what it says before the reason when the store refuses."""

    name: str
    title: str
    description: str
    failure: str = "{}"
    properties: Mapping[str, Schema] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    deferred: bool = False

    def declaration(self) -> Message:
        properties = {name: self.properties[name] for name in sorted(self.properties)}
        return {
            "annotations": {
                "title": self.title,
                "readOnlyHint": self.read_only,
                "destructiveHint": self.destructive,
                "idempotentHint": self.idempotent,
                "openWorldHint": False,
            },
            # Not under _meta: it is how Claude's interface asks to load a tool only when it is searched for.
            **({"defer_loading": True} if self.deferred else {}),
            "description": unwrapped(self.description),
            "inputSchema": {"properties": properties, "required": sorted(self.required), "type": "object"},
            "name": self.name,
        }


@dataclass(frozen=True, slots=True)
class BoundTool:
    """A tool together with the memory that it works on."""

    tool: TextTool
    memory: Memory

    @property
    def name(self) -> str:
        return self.tool.name

    @property
    def work(self) -> Work:
        return Work.READ if self.tool.read_only else Work.WRITE

    def declaration(self) -> Message:
        return self.tool.declaration()

    def result(self, arguments: object) -> Message:
        # 40 ms that the list of tools need not wait for
        from anamnesis.mcp.engram import reading, writing
        from anamnesis.notes.cleaning import Cleaning, warning

        call: Call = getattr(reading if self.tool.read_only else writing, self.tool.name)
        given = Arguments(arguments if isinstance(arguments, Mapping) else {}, Cleaning(strict=self.memory.strict))
        try:
            # A byte that is no UTF-8 is in the database, but cannot be in an answer.
            said = valid(call(self.memory, given))
            told = "" if self.tool.read_only else warning(given.cleaning.kinds)
            return text_result(f"{said}\n⚠ {told}" if told else said)
        except Unusable as error:
            return text_result(str(error), is_error=True)
        except (AnamnesisError, sqlite3.Error) as error:
            return text_result(self.tool.failure.format(error), is_error=True)


def text(description: str) -> Schema:
    return {"description": description, "type": "string"}


def number(description: str) -> Schema:
    return {"description": description, "type": "number"}


def yes_or_no(description: str) -> Schema:
    return {"description": description, "type": "boolean"}
