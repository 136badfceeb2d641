"""The author of a note: a person, whose notes no program changes on its own, or an agent. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise

from anamnesis.notes.marks import EDITED_BY, marks_of, with_mark
from anamnesis.notes.record import PINNED, Memory, without_ticking

_PERSON = "human"
# Nanoseconds within which a program writes the file after it has set the time in a note.
_WRITTEN = 2_000_000_000


def is_persons(note: Memory) -> bool:
    """Whether a person wrote, edited or pinned a note."""
    return PINNED in note.tags or _is_own(note)


def is_claimed(note: Memory) -> bool:
    """Whether a person edited or pinned a note, whoever wrote it."""
    return PINNED in note.tags or marks_of(note).get(EDITED_BY) == _PERSON


def as_edited(before: Memory, after: Memory) -> Memory:
    """A note that a person has changed: it is that person's from now on, on every machine."""
    return after if after == before or _is_own(after) else with_mark(after, EDITED_BY, _PERSON)


def is_edited_by_hand(versions: Sequence[tuple[Memory, int]]) -> bool:
    """Whether an editor saved one of these versions of a note, which are given with the times of their files.

    Programs set `updated_at` when they change the text of a note, and editors do not. A program may change a note twice
    within a second, but then the file is as old as the time in it.
    """
    return any(
        one.updated_at == other.updated_at
        and (one.title, one.body) != (other.title, other.body)
        and at > _nanoseconds(other.updated_at) + _WRITTEN
        for (one, _), (other, at) in pairwise(versions)
    )


def _is_own(note: Memory) -> bool:
    """Whether a person edited a note, or wrote it: notes of agents have a model, a session or fields of Engram."""
    if marks_of(note).get(EDITED_BY) == _PERSON:
        return True
    return note.prov_source == "human" and not (note.prov_model or note.prov_session or without_ticking(note.engram))


def _nanoseconds(time: str) -> int:
    try:
        return int(datetime.fromisoformat(time).timestamp()) * 1_000_000_000
    except (ValueError, OverflowError):
        return 0
