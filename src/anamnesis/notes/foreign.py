"""Notes that wait for a person's review, such as imported ones: their origin and tags. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from anamnesis.light import lazy_pattern
from anamnesis.notes.record import Memory

REVIEWED = "reviewed"
# The tag of an agent's note that a person has to accept before new sessions get it.
TO_REVIEW = "to-review"
# Claude Code's own memory on the user's machine is imported, but not foreign.
CLAUDE_CODE = "claude-code"
SOURCE = "import"
_CONFIDENCE = 0.5
_NO_NAME = lazy_pattern(r"[^\w.@-]+")
_LONGEST_NAME = 40


class Origin(NamedTuple):
    """Whose a note is that the user has not written, in a few words, and whether a person has yet to accept it."""

    source: str
    is_unreviewed: bool = False


def origin_name(text: str) -> str:
    """The origin of an import as one short word that is harmless in any text."""
    return _NO_NAME.sub("-", text).strip("-")[:_LONGEST_NAME] or "unknown"


def as_foreign(note: Memory, origin: str) -> Memory:
    """The note as a foreign note that nobody has reviewed."""
    tags = [tag for tag in note.tags if tag not in (REVIEWED, CLAUDE_CODE, TO_REVIEW)]
    confidence = min(note.confidence, _CONFIDENCE)
    return replace(note, prov_source=SOURCE, machine_id=origin_name(origin), confidence=confidence, tags=tags)


def is_foreign(note: Memory) -> bool:
    return note.prov_source == SOURCE and CLAUDE_CODE not in note.tags


def is_waiting(note: Memory) -> bool:
    """Whether a foreign note, or an agent's note that needs a review, has not been reviewed."""
    return (is_foreign(note) or TO_REVIEW in note.tags or is_held(note)) and REVIEWED not in note.tags


def is_held(note: Memory) -> bool:
    """Whether a note has the mark of a hold."""
    if not note.extra:
        return False
    from anamnesis.notes.marks import HELD, marks_of  # most notes have none

    return HELD in marks_of(note)


def as_reviewed(note: Memory) -> Memory:
    return replace(note, tags=[*note.tags, REVIEWED]) if is_waiting(note) else note


def origin_of(note: Memory) -> Origin | None:
    """The origin of an imported note, or of an agent's note that needs a review; None for all others."""
    if is_foreign(note):
        return Origin(f"imported from {origin_name(note.machine_id)}", is_waiting(note))
    return Origin("an agent's", is_unreviewed=True) if is_waiting(note) else None


def label(note: Memory) -> str:
    """The origin of a foreign or unreviewed note as shown to an agent; else ""."""
    if not is_foreign(note):
        return "an agent's, not reviewed by the user" if is_waiting(note) else ""
    origin = origin_name(note.machine_id)
    return f"foreign: imported from {origin}" if is_waiting(note) else f"imported from {origin}, reviewed"
