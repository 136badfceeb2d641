"""What an importer yields: memories of other programs as values, and what could not be read. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from anamnesis.notes import Memory, MemoryType


@dataclass(frozen=True, slots=True)
class Record:
    """One memory of another program, as it is there: secrets included, times and texts in any form.

    `key` names it for ever: by its id there, where that is the same on every machine, else by machine and path.
    `fields` is what has no place in a note. What was a note once is `whole`; what was exported from here, and may have
    been edited there, names its note by `note_id`.
    """

    key: str
    title: str
    body: str
    type: MemoryType = "semantic"
    project: str = ""
    created_at: str = ""
    updated_at: str = ""
    tags: Sequence[str] = ()
    session: str = ""
    model: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    whole: Memory | None = None
    note_id: str = ""


class Broken(NamedTuple):
    """A part that could not be read, and why."""

    place: str
    reason: str


class Skipped(NamedTuple):
    """A conversation that is not worth a note."""

    place: str


Read = Record | Broken | Skipped
Reading = Iterator[Read]
