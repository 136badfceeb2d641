"""The items that an importer yields: memories of other programs, and parts that could not be read. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from anamnesis.notes import Memory, MemoryType


@dataclass(frozen=True, slots=True)
class Record:
    """One memory of another program, unchanged: secrets included, times and texts in any form.

    `key` is permanent: the id there if that is the same on every machine, else machine and path. `fields` has what a
    note has no place for. `whole` is the original note of an export. `note_id` is set for a file that was exported
    from this home and may have been edited.
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


class Unreadable(NamedTuple):
    """A part that could not be read, and why."""

    place: str
    reason: str


class SkippedConversation(NamedTuple):
    """A conversation that is not worth a note."""

    place: str


ImportItem = Record | Unreadable | SkippedConversation
ImportItems = Iterator[ImportItem]
