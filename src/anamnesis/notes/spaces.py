"""The space of a note at a hub: the front-matter line `space: NAME`. Pure.

Without the line, a note is in the space of its project, or else in its author's own.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

from anamnesis.errors import InvalidNote
from anamnesis.light import lazy_pattern
from anamnesis.notes.record import Memory

KEY = "space"
# The names of personal spaces begin with it.
PERSONAL = "~"
# A hub that was set back to an earlier state numbers new versions from the next multiple of this on: so no number means
# two versions, and of two the higher one is the later.
VERSION_RANGE = 10**9
_AFTER = "tags"
# A value on the lines after its key was written by somebody else, and is left alone.
_LINE = lazy_pattern(rf"^{KEY}: *+(\S.*+)\n", re.MULTILINE)
_NAME = lazy_pattern(r"~?[a-z0-9][a-z0-9._-]{0,62}")


def space_of(note: Memory) -> str:
    """The space that a note names; "" if it names none."""
    found = _LINE.search("".join(note.extra.values())) if note.extra else None
    return _unquoted(found[1].partition(" #")[0].strip()) if found else ""


def is_shared(name: str) -> bool:
    """Whether a name is that of a space with other members: neither none nor a person's own."""
    return bool(name) and not name.startswith(PERSONAL)


def with_space(note: Memory, name: str) -> Memory:
    """The note with a single line for this space, directly after the tags; an empty name removes the line."""
    extra = {key: _LINE.sub("", lines) for key, lines in note.extra.items()}
    extra[_AFTER] = space_line(name).get(_AFTER, "") + extra.get(_AFTER, "")
    return replace(note, extra={key: lines for key, lines in extra.items() if lines})


def space_line(name: str) -> dict[str, str]:
    """The `extra` lines of a new note in a space; none for an empty name."""
    written = name if _NAME.fullmatch(name) else json.dumps(name, ensure_ascii=False)
    return {_AFTER: f"{KEY}: {written}\n"} if name else {}


def check_space(name: str) -> str:
    """The name, if a space can have it."""
    if not _NAME.fullmatch(name):
        shown = repr(name if len(name) <= 60 else name[:57] + "...")
        hint = "It has up to 63 small letters, digits, dots, dashes and underscores, a letter or digit first."
        raise InvalidNote(f"{shown} is not the name of a space.", hint, field=KEY)
    return name


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] in "'\"" and value[0] == value[-1] else value
