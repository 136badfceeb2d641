"""Compares the two versions of a conflict: the lines that differ, and the machines that wrote them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from anamnesis.history.commits import committed
from anamnesis.history.diffs import differing, text_of
from anamnesis.history.version import Version
from anamnesis.notes import Memory
from anamnesis.notes.merge import without_conflict_tag
from anamnesis.sync.conflicts import Conflict


@dataclass(frozen=True, slots=True)
class ConflictComparison:
    """The machines of both versions, "" if unknown, and the lines that differ: `-` this one's, `+` the other's."""

    this: str
    other: str
    diff: str


def compare(folder: Path, conflict: Conflict) -> ConflictComparison:
    """Compare the versions of a conflict in a folder of notes."""
    versions = committed(folder, conflict.id)
    this, other = conflict.note, without_conflict_tag(conflict.other)
    return ConflictComparison(
        _machine(versions, this), _machine(versions, other), differing(text_of(this), text_of(other))
    )


def _machine(versions: Iterable[Version], note: Memory | None) -> str:
    """The machine whose sync first committed a version; later commits of the same text are merges."""
    return next((each.by for each in versions if each.note and note and _state(each.note) == _state(note)), "")


def _state(note: Memory) -> tuple[str, str, str]:
    return note.updated_at, note.title, note.body
