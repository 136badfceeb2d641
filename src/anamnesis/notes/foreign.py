"""Notes that were imported from elsewhere: what they are known by, and the mark of a person's review. Pure."""

from __future__ import annotations

import re
from dataclasses import replace

from anamnesis.notes.record import Memory

REVIEWED = "reviewed"
# What Claude Code remembers on a machine of this user is imported, but not from elsewhere.
CLAUDE_CODE = "claude-code"
SOURCE = "import"
_CONFIDENCE = 0.5
_NO_NAME = re.compile(r"[^\w.@-]+")
_LONGEST_NAME = 40


def origin_name(text: str) -> str:
    """Where something was imported from, as one short word that can do nothing to the text around it."""
    return _NO_NAME.sub("-", text).strip("-")[:_LONGEST_NAME] or "unknown"


def as_foreign(note: Memory, origin: str) -> Memory:
    """The note as one of somebody else, which nobody here has reviewed."""
    tags = [tag for tag in note.tags if tag not in (REVIEWED, CLAUDE_CODE)]
    confidence = min(note.confidence, _CONFIDENCE)
    return replace(note, prov_source=SOURCE, machine_id=origin_name(origin), confidence=confidence, tags=tags)


def is_foreign(note: Memory) -> bool:
    return note.prov_source == SOURCE and CLAUDE_CODE not in note.tags


def is_waiting(note: Memory) -> bool:
    """Whether a foreign note waits for a review."""
    return is_foreign(note) and REVIEWED not in note.tags


def as_reviewed(note: Memory) -> Memory:
    return replace(note, tags=[*note.tags, REVIEWED]) if is_waiting(note) else note


def label(note: Memory) -> str:
    """What an agent is told of a note's origin, where it is foreign."""
    if not is_foreign(note):
        return ""
    origin = origin_name(note.machine_id)
    return f"foreign: imported from {origin}" if is_waiting(note) else f"imported from {origin}, reviewed"
