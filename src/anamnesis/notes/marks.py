"""Marks that dreams, reflection and edits leave on notes: keys of the front matter after the tags. Pure.

A mark is text, or ids separated by blanks. Its note keeps its times: it says the same as before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace

from anamnesis.light import lazy_pattern
from anamnesis.notes.record import REFLECTED as REFLECTED
from anamnesis.notes.record import Memory

# A note that says something newer, and the older one that it outdates.
UPDATES, UPDATED_BY = "updates", "updated_by"
# Each of two notes that say the opposite.
CONTRADICTS = "contradicts"
# The durable note that has the substance of an episode, and the notes that a note was derived from.
COVERED_BY, SOURCES = "covered_by", "sources"
# What is gone from the working copy, and the commit that removed it.
STALE = "stale"
# Who has edited a note: only a person leaves this mark.
EDITED_BY = "edited_by"
LINKS = (UPDATES, UPDATED_BY, CONTRADICTS, COVERED_BY, SOURCES)
MARKS = (*LINKS, STALE, EDITED_BY)
# Those that say that a note may not hold any more.
DOUBTS = (UPDATED_BY, CONTRADICTS, STALE)
_WORDS = {
    UPDATES: "updates",
    UPDATED_BY: "outdated by",
    CONTRADICTS: "contradicts",
    COVERED_BY: "covered by",
    SOURCES: "derived from",
    STALE: "stale:",
    EDITED_BY: "edited by",
}
# The tags of notes that are outdated, contradicted or about code that is gone.
OUTDATED, CONTRADICTED, GONE = "outdated", "contradicted", "stale"

_AFTER = "tags"
# An id or several, which YAML reads as text: at least one letter, and nothing with a meaning.
_PLAIN = lazy_pattern(r"(?=[0-9]*+[A-Z])[0-9A-Z]{26}(?: [0-9A-Z]{26})*+")
# A value on the lines after its key is somebody's own form, which is left alone.
_LINE = lazy_pattern(rf"^({'|'.join(MARKS)}): *+(\S.*+)\n", re.MULTILINE)


def marks_of(note: Memory) -> dict[str, str]:
    """The marks of a note, by name."""
    if not note.extra:  # as most notes have none, and many are asked
        return {}
    return {name: _unquoted(value) for name, value in _LINE.findall("".join(note.extra.values()))}


def linked(note: Memory, name: str) -> list[str]:
    """The ids that a mark of a note names."""
    return marks_of(note).get(name, "").split()


def mark_values(note: Memory) -> dict[str, list[str]]:
    """The marks of a note with the ids that each names, or its text."""
    return {name: value.split() if name in LINKS else [value] for name, value in marks_of(note).items()}


def told(marks: Mapping[str, str]) -> list[str]:
    """Marks in words."""
    return [f"{_WORDS[name]} {marks[name]}" for name in MARKS if marks.get(name)]


def with_marks(note: Memory, marks: Mapping[str, str]) -> Memory:
    """The note with these marks alone, those without a value left out.

    They are in one order, so that two machines that mark a note write the same. Characters that cannot be printed are
    blanks: then a value is one line, and the same text in JSON and in YAML.
    """
    extra = {key: _LINE.sub("", lines) for key, lines in note.extra.items()}
    values = {name: "".join(each if each.isprintable() else " " for each in marks.get(name, "")) for name in MARKS}
    lines = "".join(f"{name}: {_quoted(value)}\n" for name, value in values.items() if value)
    extra[_AFTER] = extra.get(_AFTER, "") + lines
    return replace(note, extra={key: lines for key, lines in extra.items() if lines})


def with_mark(note: Memory, name: str, value: str) -> Memory:
    """The note with a mark in place of the one of this name; without it for an empty value."""
    return with_marks(note, {**marks_of(note), name: value})


def with_link(note: Memory, name: str, *ids: str) -> Memory:
    """The note with ids added to a mark, in their order."""
    return with_mark(note, name, " ".join(sorted({*linked(note, name), *ids})))


def without_link(note: Memory, name: str, *ids: str) -> Memory:
    """The note without these ids in a mark."""
    return with_mark(note, name, " ".join(id for id in linked(note, name) if id not in ids))


def with_tag(note: Memory, tag: str) -> Memory:
    return note if tag in note.tags else replace(note, tags=[*note.tags, tag])


def without_tag(note: Memory, tag: str) -> Memory:
    return replace(note, tags=[each for each in note.tags if each != tag])


def _quoted(value: str) -> str:
    return value if _PLAIN.fullmatch(value) else json.dumps(value, ensure_ascii=False)


def _unquoted(value: str) -> str:
    if value.startswith('"'):
        try:
            return str(json.loads(value))
        except ValueError:
            return value
    return value.strip("'")
