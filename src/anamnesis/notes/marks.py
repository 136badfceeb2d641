"""Marks that dreams, reflection and edits add to notes: keys of the front matter after the tags. Pure.

A mark is text, or ids separated by blanks. A marked note keeps its times, because its text is unchanged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace

from anamnesis.light import lazy_pattern
from anamnesis.notes.record import REFLECTED as REFLECTED
from anamnesis.notes.record import Memory

# On the newer note, the older one that it outdates; and the reverse.
UPDATES, UPDATED_BY = "updates", "updated_by"
# On each of two notes that contradict each other.
CONTRADICTS = "contradicts"
# On an episode, the durable notes that hold its statements; on a note, the episodes that it was derived from.
COVERED_BY, SOURCES = "covered_by", "sources"
# The references that are gone from the working copy, with the commits that removed them.
STALE = "stale"
# The mark of a note that a person has edited.
EDITED_BY = "edited_by"
# The mark of a note that no session is told before a person has accepted it, with the reason.
HELD = "held"
LINKS = (UPDATES, UPDATED_BY, CONTRADICTS, COVERED_BY, SOURCES)
MARKS = (*LINKS, STALE, EDITED_BY, HELD)
# The marks that say that a note may no longer be true.
DOUBTS = (UPDATED_BY, CONTRADICTS, STALE)
_WORDS = {
    UPDATES: "updates",
    UPDATED_BY: "outdated by",
    CONTRADICTS: "contradicts",
    COVERED_BY: "covered by",
    SOURCES: "derived from",
    STALE: "stale:",
    EDITED_BY: "edited by",
    HELD: "held:",
}
# The tags of notes that are outdated, contradicted or refer to code that is gone.
OUTDATED, CONTRADICTED, GONE = "outdated", "contradicted", "stale"

_AFTER = "tags"
# One or several ids that YAML reads as text unquoted: with at least one letter and no special character.
_PLAIN = lazy_pattern(r"(?=[0-9]*+[A-Z])[0-9A-Z]{26}(?: [0-9A-Z]{26})*+")
# A mark on one line. A value on the lines after its key was written by somebody else, and is left alone.
_LINE = lazy_pattern(rf"^({'|'.join(MARKS)}): *+(\S.*+)\n", re.MULTILINE)


def marks_of(note: Memory) -> dict[str, str]:
    """The marks of a note, by name."""
    if not note.extra:  # most notes have no marks, and this is called for many
        return {}
    return {name: _unquoted(value) for name, value in _LINE.findall("".join(note.extra.values()))}


def linked(note: Memory, name: str) -> list[str]:
    """The ids that a mark of a note names."""
    return marks_of(note).get(name, "").split()


def mark_values(note: Memory) -> dict[str, list[str]]:
    """The marks of a note with the ids that each names, or its text."""
    return {name: value.split() if name in LINKS else [value] for name, value in marks_of(note).items()}


def mark_sentences(marks: Mapping[str, str]) -> list[str]:
    """Marks in words."""
    return [f"{_WORDS[name]} {marks[name]}" for name in MARKS if marks.get(name)]


def with_marks(note: Memory, marks: Mapping[str, str]) -> Memory:
    """The note with exactly these marks; marks without a value are left out.

    Their order is fixed, so that two machines that mark a note write the same bytes. Unprintable characters become
    blanks, so that a value is one line, and the same text in JSON and in YAML.
    """
    extra = {key: _LINE.sub("", lines) for key, lines in note.extra.items()}
    values = {name: "".join(each if each.isprintable() else " " for each in marks.get(name, "")) for name in MARKS}
    lines = "".join(f"{name}: {_quoted(value)}\n" for name, value in values.items() if value)
    extra[_AFTER] = extra.get(_AFTER, "") + lines
    return replace(note, extra={key: lines for key, lines in extra.items() if lines})


def with_mark(note: Memory, name: str, value: str) -> Memory:
    """The note with this value of a mark; an empty value removes the mark."""
    return with_marks(note, {**marks_of(note), name: value})


def with_link(note: Memory, name: str, *ids: str) -> Memory:
    """The note with ids added to a mark, sorted."""
    return with_mark(note, name, " ".join(sorted({*linked(note, name), *ids})))


def without_link(note: Memory, name: str, *ids: str) -> Memory:
    """The note without these ids in a mark."""
    return with_mark(note, name, " ".join(id for id in linked(note, name) if id not in ids))


def hold(reason: str, agent: str) -> str:
    """The value of the mark of a note of an agent that has to wait for a person."""
    return f"{reason}, by {agent or 'an agent'}"


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
