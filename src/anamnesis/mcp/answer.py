"""Notes as the tools return them: with the specified keys, and in answers of a bounded length. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from anamnesis.errors import InvalidArgument
from anamnesis.mcp.dispatcher import Message, as_json
from anamnesis.notes import Memory
from anamnesis.plain import escaped

if TYPE_CHECKING:
    from anamnesis.notes.foreign import Origin
    from anamnesis.store import Hit

# The most characters of an answer, which holds each note twice: as text, and as structure.
BUDGET = 24_000
# The part of the budget for everything but notes.
_FRAME = 1_000
# The least for the body of each shown note: the mark of the cut, and some 300 characters.
_LEAST = 1_000
# The longest texts of a note besides its body; the second if a note with many escapes would still be too long.
_LONGEST, _SHORTER = 300, 100

KEYS = ("id", "type", "title", "project", "machine_id", "scope", "tags", "created_at", "updated_at")
_PROVENANCE = ("prov_source", "prov_model", "prov_session", "confidence", "supersedes")
_DEFAULTS = {each.name: each.default for each in fields(Memory) if each.name in _PROVENANCE}


def note_fields(note: Memory, *, body: bool = True, explain: bool = False, origin: Origin | None = None) -> Message:
    """A note with the specified keys, and its origin if it is foreign.

    `explain` adds its provenance if it is not the default.
    """
    keys = (*KEYS, "body") if body else KEYS
    more = [name for name in _PROVENANCE if explain and getattr(note, name) != _DEFAULTS[name]]
    at_hub = [name for name in ("space", "author") if hasattr(note, name)]  # of a hub's note
    return {name: getattr(note, name) for name in (*at_hub, *keys, *more)} | (origin.shown() if origin else {})


def hit_fields(hit: Hit, *, explain: bool = False) -> Message:
    """A note that a search found, with marks if it is a weak hit, foreign, outdated, contradicted or stale.

    `explain` adds the score and its reasons.
    """
    found = note_fields(hit.memory, explain=explain) | ({"weak": True} if hit.is_weak else {}) | hit.marks.shown()
    if explain:
        found["score"] = round(hit.score, 6)
        found |= {} if hit.fit is None else {"fit": round(hit.fit, 3)}
        found |= {"why": hit.why.shown()} if hit.why else {}
    return found


def fitted(notes: Iterable[Message], start: int = 0) -> list[Message]:
    """As many notes as an answer can hold, at least one. Their bodies are cut to share the space.

    `start` is the offset of these bodies in the whole ones.
    """
    room = BUDGET - _FRAME
    kept: list[Message] = []
    lengths: list[int] = []
    for note in map(_bounded, notes):
        length = _length(note.get("body", "")[:BUDGET])
        needed = _length({**note, "body": ""}) + min(length, _LEAST)
        if kept and needed > room:
            break
        room -= needed
        kept.append(note)
        lengths.append(length)
    return [_cut(note, share, start) for note, share in zip(kept, _shares(lengths, room), strict=True)]


def shortened(value: Any, longest: int = _LONGEST) -> Any:
    """A text cut to its longest length, or a list of texts cut likewise."""
    if isinstance(value, str):
        return value if len(value) <= longest else f"{value[: longest - 1]}…"
    if not isinstance(value, list):
        return value
    kept: list[str] = []
    for each in value:
        if sum(map(len, kept)) + len(each) > longest:
            return [*kept, "…"]
        kept.append(each)
    return kept


def refuse_cut(note_id: str, body: str) -> None:
    """Refuse a new body with the mark of a cut: the note would lose the part that was cut."""
    if _mark_of(note_id) in body:
        raise InvalidArgument(
            "The body contains the mark of a cut answer; saving it would lose the rest of the note.",
            "Read the rest with memory_get and its offset, and send the whole body without the mark.",
        )


def _bounded(note: Message) -> Message:
    for longest in (_LONGEST, _SHORTER):
        short = {name: value if name == "body" else shortened(value, longest) for name, value in note.items()}
        if _length({**short, "body": ""}) <= BUDGET // 2:
            break
    return short


def _shares(lengths: list[int], room: int) -> list[int]:
    """The space of each body. Longer ones get what short ones leave."""
    shares = [min(length, _LEAST) for length in lengths]
    places = sorted(range(len(lengths)), key=lambda place: lengths[place])
    for count, place in enumerate(places):
        more = min(lengths[place] - shares[place], max(0, room) // (len(places) - count))
        shares[place] += more
        room -= more
    return shares


def _cut(note: Message, room: int, start: int) -> Message:
    """The note with its body cut to the space, and how to read the rest."""
    body = note.get("body", "")
    if len(body) <= BUDGET and _length(body) <= room:
        return note

    def mark(end: int) -> str:
        left = f"{len(body) - end:,} characters are left"
        return f"\n\n[cut: {left}; {_mark_of(note['id'])}{start + end} returns them]"

    room -= _length(mark(0)) + len(str(start + len(body)))
    end = max(0, bisect_right(range(max(1, room // 2)), room, key=lambda end: _length(body[:end])) - 1)
    return {**note, "body": body[:end] + mark(end)}


def _mark_of(note_id: str) -> str:
    return f"memory_get with id {note_id} and offset "


def _length(value: object) -> int:
    """The number of characters of a value in an answer."""
    structure = as_json(value)
    return len(structure) + len(as_json(escaped(structure)))
