"""A tool of Engram's dialect: it returns one text, and treats its arguments as Go's type assertions do."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, cast

from anamnesis.engram.gotext import truncated
from anamnesis.engram.strings import valid
from anamnesis.errors import AnamnesisError
from anamnesis.mcp.arguments import Schema
from anamnesis.mcp.dispatcher import Message, Work, text_result, unwrapped

if TYPE_CHECKING:
    from anamnesis.engram.record import Marking, Row
    from anamnesis.engram.search import Recall
    from anamnesis.engram.sessions import Place
    from anamnesis.notes.cleaning import Cleaning
    from anamnesis.store import MemoryStore
    from anamnesis.store.strength import Kind

    Used = Callable[[Kind, Iterable[int]], object]


class Unusable(Exception):
    """Arguments that a tool cannot use; the message is its answer."""


@dataclass(frozen=True, slots=True)
class EngramMemory:
    """What the tools work on: a connection for each call, and the default project of calls without one.

    Unless it is `strict`, `recall` is used if a search by words finds nothing. `notes` is the store that dreams tidy,
    `used` records a use of observations, and `marked` says of them that they are not the user's own. `place` is where
    the client runs, if that is known.
    """

    database: Callable[[], AbstractContextManager[sqlite3.Connection]]
    default_project: Callable[[], str] = str
    strict: bool = False
    recall: Recall | None = None
    notes: Callable[[], MemoryStore] | None = None
    used: Used = lambda _kind, _ids: None
    marked: Marking | None = None
    place: Callable[[], Place] | None = None

    def shown(self, db: sqlite3.Connection, rows: Sequence[Row], *, unasked: bool = False) -> list[Row]:
        """The rows as answers have them: those that are not the user's own say so, unless it is `strict`."""
        return [*rows] if self.strict or not self.marked else self.marked(db, rows, unasked=unasked)

    def begin(self, db: sqlite3.Connection, project: str, given: str) -> str:
        """Start the session of a write, unless it exists; returns its id."""
        from anamnesis.engram import sessions

        return sessions.begin(db, project, given, None if self.strict or not self.place else self.place())

    def raw_project(self, given: Arguments) -> str:
        return given.text("project") or given.cleaning(self.default_project())

    def project(self, given: Arguments) -> str:
        from anamnesis.engram import projects  # takes 20 ms, which the list of tools does not need

        return projects.normalise(self.raw_project(given))


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of a call, redacted. Values of the wrong type and unknown arguments count as missing."""

    sent: Mapping[str, object]
    cleaning: Cleaning
    _cleaned: dict[str, str] = field(default_factory=dict)

    def text(self, name: str) -> str:
        return self.optional(name) or ""

    def optional(self, name: str) -> str | None:
        if not self._cleaned:
            given = {name: valid(value) for name, value in self.sent.items() if isinstance(value, str)}
            self._cleaned.update(zip(given, self.cleaning.all([*given.values()]), strict=True))
        return self._cleaned.get(name)

    def as_sent(self, name: str) -> str:
        """A text that is only compared, and so not redacted: the store may hold older, unredacted secrets."""
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


class Structured(NamedTuple):
    """The text of a tool, and its values for programs."""

    text: str
    values: Message


Call = Callable[[EngramMemory, Arguments], str | Structured]


@dataclass(frozen=True, slots=True)
class TextTool:
    """A tool that agents may call; `failure` is the text in which it reports an error of the store.

    Engram's functions are in `reading` and `writing`, those of Reverie's tools in `reverie`.
    """

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
    is_reverie: bool = False

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
            # Not under _meta: Claude's API has this field for tools that are loaded only when a search finds them.
            **({"defer_loading": True} if self.deferred else {}),
            "description": unwrapped(self.description),
            "inputSchema": {"properties": properties, "required": sorted(self.required), "type": "object"},
            "name": self.name,
        }


@dataclass(frozen=True, slots=True)
class BoundTool:
    """A tool together with the memory that it works on."""

    tool: TextTool
    memory: EngramMemory

    @property
    def name(self) -> str:
        return self.tool.name

    @property
    def work(self) -> Work:
        return Work.READ if self.tool.read_only else Work.WRITE

    def declaration(self) -> Message:
        return self.tool.declaration()

    def _call(self) -> Call:
        if self.tool.is_reverie:
            from anamnesis.mcp.engram import reverie

            return cast("Call", getattr(reverie, self.tool.name))
        from anamnesis.mcp.engram import reading, writing

        return cast("Call", getattr(reading if self.tool.read_only else writing, self.tool.name))

    def result(self, arguments: object) -> Message:
        # takes 40 ms, which the list of tools does not need
        from anamnesis.notes.cleaning import Cleaning, warning

        call = self._call()
        given = Arguments(arguments if isinstance(arguments, Mapping) else {}, Cleaning(strict=self.memory.strict))
        try:
            returned = call(self.memory, given)
            answer = returned if isinstance(returned, Structured) else Structured(returned, {})
            redacted = "" if self.tool.read_only else warning(given.cleaning.kinds)
            # The database may hold invalid UTF-8, but an answer must not.
            text = valid(answer.text) + (f"\n⚠ {redacted}" if redacted else "")
            # A host shows a model either the text or the structure, so the structure holds the text, too.
            structure = {"structuredContent": {**answer.values, "result": text}} if answer.values else {}
            return {**text_result(text), **structure}
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
