"""Three-way merge of notes by field. Pure; the order of the two versions makes no difference."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from anamnesis.notes.foreign import Origin, as_foreign
from anamnesis.notes.line_merge import merge_lines
from anamnesis.notes.markdown import render
from anamnesis.notes.marks import HELD, LINKS, mark_values, with_mark, with_marks
from anamnesis.notes.record import COUNTS, KEYS, EngramValue, Memory, without_ticking
from anamnesis.notes.spaces import space_of, with_space
from anamnesis.notes.ulid import derived_id
from anamnesis.plain import one_line

CONFLICT_TAG = "conflict"
_LINK = "conflict_of"
# Why a copy waits for a review.
_COPIED = "It has the text of another member of a team."
_LINK_LINE = re.compile(rf"^{_LINK}: *(\S+) *\n", re.MULTILINE)

# Fields that must be unique on each machine, so the copy of a conflicting version does not have them.
_IDENTITY = ("sync_id", "topic_key")
_ABSENT = object()
_LONGEST_VALUE = 60
Fields = dict[str, EngramValue]

# The fields with a single value. If both sides changed one, the note gets the newer's.
_SCALARS = (*KEYS[KEYS.index("type") : KEYS.index("supersedes")], "newline")
# Those of them whose older value no version keeps: a title that both changed is a conflict, and line ends are no text.
_DECIDED = tuple(name for name in _SCALARS if name not in ("title", "newline"))


@dataclass(frozen=True, slots=True)
class MergedNote:
    """A note with both sides' changes; in a conflict, also the older version as a separate note.

    Without a conflict, `decided` has a sentence for each value that gave way to the newer side's.
    """

    note: Memory
    other: Memory | None = None
    decided: tuple[str, ...] = ()


def merge(base: Memory | None, one: Memory, two: Memory) -> MergedNote:
    """Merge two changes of one note. Both sides' lines and titles are kept; of other fields, the newer side's value."""
    if base in (one, two) or one == two:
        return MergedNote(two if one == base else one)
    marks = _merged_marks(base, one, two)
    older, newer = sorted((one, two), key=lambda memory: (memory.updated_at, render(memory)))
    space = _merged_space(base, older, newer)
    merged = _merge(base and _plain(base), _plain(older), _plain(newer))
    note = with_marks(with_space(merged.note, space), marks)
    if merged.other:
        return MergedNote(note, with_space(merged.other, space))
    return MergedNote(note, decided=_decided(base, older, note))


def _plain(note: Memory) -> Memory:
    """A note without its marks and its space, which are merged separately."""
    return with_marks(with_space(note, ""), {})


def _merge(base: Memory | None, one: Memory, two: Memory) -> MergedNote:
    """Merge two changes of one note without marks and spaces."""
    older, newer = sorted((one, two), key=lambda memory: (memory.updated_at, render(memory)))
    values: dict[str, Any] = {name: _prevailing(base, older, newer, name) for name in (*_SCALARS, "extra")}
    body, conflict = merge_lines(base.body if base else None, older.body, newer.body)
    note = replace(
        newer,
        **values,
        body=body,
        tags=_united(base.tags if base else [], older.tags, newer.tags),
        engram=_merged_fields(base.engram if base else {}, older.engram, newer.engram),
        supersedes=_united(base.superseded if base else [], older.superseded, newer.superseded),
        created_at=min(older.created_at or newer.created_at, newer.created_at or older.created_at),
        updated_at=newer.updated_at,
    )
    conflict |= older.title not in (note.title, base and base.title)
    conflict |= older.extra not in (note.extra, base.extra if base else {})
    return MergedNote(note, set_aside(older) if conflict else None)


def conflict_of(memory: Memory) -> str:
    """The id of the note that this one is a conflicting version of; "" if none."""
    found = _LINK_LINE.search("".join(memory.extra.values())) if CONFLICT_TAG in memory.tags else None
    return found.group(1) if found else ""


def without_conflict_tag(memory: Memory) -> Memory:
    """A conflicting version without its conflict tag and link."""
    extra = {key: _LINK_LINE.sub("", lines) for key, lines in memory.extra.items()}
    tags = [tag for tag in memory.tags if tag != CONFLICT_TAG]
    return replace(memory, tags=tags, extra={key: lines for key, lines in extra.items() if lines})


def in_place_of(note: Memory | None, other: Memory) -> Memory:
    """A resolved version with the note's identity in Engram."""
    identity = {name: value for name, value in note.engram.items() if name in _IDENTITY} if note else {}
    return replace(other, engram={**other.engram, **identity})


def _prevailing(base: Memory | None, older: Memory, newer: Memory, name: str) -> Any:
    """The value of the side that changed it; if both did, the newer one's."""
    if base and getattr(newer, name) == getattr(base, name):
        return getattr(older, name)
    return getattr(newer, name)


def _decided(base: Memory | None, older: Memory, note: Memory) -> tuple[str, ...]:
    """A sentence for each value that the older side gave a field, and that the merged note does not have."""
    before, gone, kept = (_values(each) if each else {} for each in (base, older, note))
    return tuple(
        f"{name} of {note.id}: kept {_shown(kept.get(name))} (newer), not {_shown(value)}"
        for name, value in gone.items()
        if value not in (kept.get(name), before.get(name))
    )


def _values(note: Memory) -> dict[str, object]:
    fields = {name: getattr(note, name) for name in _DECIDED}
    engram = {f"engram.{name}": value for name, value in without_ticking(note.engram).items()}
    return {**fields, **engram, "space": space_of(note)}


def _shown(value: object) -> str:
    return "nothing" if value in ("", None) else f"`{one_line(str(value), _LONGEST_VALUE)}`"


def _merged_marks(base: Memory | None, one: Memory, two: Memory) -> dict[str, str]:
    """The marks of both sides: dreams on two machines may mark a note for different reasons, which is no conflict."""
    before, ours, theirs = (mark_values(note) if note else {} for note in (base, one, two))
    names = {**ours, **theirs}
    united = {name: _united(before.get(name, []), ours.get(name, []), theirs.get(name, [])) for name in names}
    return {
        name: " ".join(sorted(values)) if name in LINKS else max(values, default="") for name, values in united.items()
    }


def _merged_space(base: Memory | None, older: Memory, newer: Memory) -> str:
    """The space of the side that changed it; if both did, the newer one's. Removing the line changes nothing."""
    before = space_of(base) if base else ""
    return next((name for note in (newer, older) if (name := space_of(note)) not in ("", before)), before)


def _merged_fields(base: Fields, older: Fields, newer: Fields) -> Fields:
    """Engram's fields one by one: the larger count, and `deleted_at` only if both sides have it."""
    merged = {}
    for name in {**older, **newer}:
        side = older if newer.get(name, _ABSENT) == base.get(name, _ABSENT) else newer
        if name in COUNTS:
            side = max((older, newer), key=lambda fields: _count(fields.get(name)))
        if name in side and (name != "deleted_at" or (older.get(name) and newer.get(name))):
            merged[name] = side[name]
    return merged


def _count(value: EngramValue) -> int:
    return value if isinstance(value, int) else 0


def _united(base: list[str], one: list[str], two: list[str]) -> list[str]:
    """The elements that neither side removed or that either added."""
    if one in (base, two):
        return two
    if two == base:
        return one
    both = {*one} & {*two}
    return [each for each in base if each in both] + sorted({*one, *two}.difference(base))


def set_aside(memory: Memory) -> Memory:
    """A version as a separate note, tagged and linked; the id is the same on every machine."""
    own = without_conflict_tag(memory)
    return replace(
        own,
        id=derived_id(memory.updated_at, f"{_LINK}:{render(memory)}"),
        tags=[*own.tags, CONFLICT_TAG],
        engram={name: value for name, value in own.engram.items() if name not in _IDENTITY},
        extra={**own.extra, "tags": f"{own.extra.get('tags', '')}{_LINK}: {memory.id}\n"},
    )


def copy_of(note: Memory, space: str, origin: Origin | None = None) -> Memory:
    """The text of a note of a space as a note of the user's own; the id is the same on every machine.

    What another member wrote, and the user has not accepted, is marked as foreign: no machine has to know its author.
    What no session was told is held there, too.
    """
    own = replace(
        with_space(without_conflict_tag(note), space),
        id=derived_id(note.updated_at, f"copy:{render(note)}"),
        engram={name: value for name, value in note.engram.items() if name not in _IDENTITY},
    )
    if not origin or not origin.is_unreviewed:
        return own
    copy = as_foreign(own, origin.source)
    return with_mark(copy, HELD, _COPIED) if origin.is_held else copy
