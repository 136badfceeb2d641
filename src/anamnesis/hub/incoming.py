"""A change as a client sends it: read, checked and redacted before it reaches the database. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from anamnesis.errors import InvalidNote
from anamnesis.hub.refusal import Refusal, TooLarge
from anamnesis.light import lazy_pattern
from anamnesis.notes import Memory, check_id, parse, render, validate
from anamnesis.notes.redaction import redact, removed_kinds
from anamnesis.store.placing import without_secrets

MOST_CHANGES = 500
MOST_NOTE_BYTES = 1_000_000
_MACHINE = lazy_pattern(r"[\w.-]{1,64}")


@dataclass(frozen=True, slots=True)
class Incoming:
    """A change of a note: its text on top of the version `base`, or None to delete it.

    `note` is the text's record, `redacted` says that secrets were removed, `refused` why the hub does not accept it.
    `space_id` is the id of the space that the client means, if it gives one. `anew` puts a note into a space out of
    which another member took it.
    """

    space: str
    id: str
    base: int
    text: str | None
    note: Memory | None = None
    redacted: bool = False
    refused: str = ""
    space_id: int | None = None
    anew: bool = False


def read_changes(body: Any) -> tuple[str, list[Incoming]]:
    """The machine and the changes of a request; each is checked by itself, and a bad one does not refuse the others."""
    fields = read_object(body)
    changes = fields.get("changes")
    if not isinstance(changes, list):
        raise Refusal("`changes` is not a list.", 'Send {"machine", "changes": [{"space", "id", "base", "text"}]}.')
    if len(changes) > MOST_CHANGES:
        raise TooLarge(f"{len(changes)} changes are too many.", f"Send at most {MOST_CHANGES} at once.")
    return read_machine(fields), [_read_change(each) for each in changes]


def read_object(body: Any) -> Mapping[str, Any]:
    if not isinstance(body, dict):
        raise Refusal("The body is not a JSON object.")
    return body


def read_machine(fields: Mapping[str, Any]) -> str:
    machine = fields.get("machine", "")
    if not isinstance(machine, str) or not _MACHINE.fullmatch(machine):
        raise Refusal(
            f"`machine` {_short(machine)} is not the name of a machine.",
            "Use up to 64 letters, digits, dots, dashes and underscores.",
        )
    return machine


def whole_number(value: Any, what: str, most: int = 2**62) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise Refusal(f"`{what}` {_short(value)} is not a whole number from 0 on.")
    return value


def _read_change(each: Any) -> Incoming:
    fields = read_object(each)
    space, id, text = fields.get("space"), fields.get("id"), fields.get("text")
    if not isinstance(space, str) or not isinstance(id, str) or not isinstance(text, str | None):
        raise Refusal("A change needs `space`, `id` and `text` as texts.", "`text` is null to delete the note.")
    change = checked_change(space, id, whole_number(fields.get("base", 0), "base"), text)
    space_id, anew = fields.get("space_id"), fields.get("anew", False)
    if not isinstance(anew, bool):
        raise Refusal("`anew` is neither true nor false.")
    return replace(change, space_id=None if space_id is None else whole_number(space_id, "space_id"), anew=anew)


def checked_change(space: str, id: str, base: int, text: str | None) -> Incoming:
    """A change, redacted; if it cannot be stored, with the reason."""
    change = Incoming(space, id, base, text)
    try:
        return _checked(change)
    except InvalidNote as error:
        return replace(change, refused=str(error))


def _checked(change: Incoming) -> Incoming:
    """A change whose text can be stored, without secrets."""
    check_id(change.id)
    if change.text is None:
        return change
    size = _size(change.text)
    if size > MOST_NOTE_BYTES:
        raise InvalidNote(f"The note has {size:,} bytes.", f"The hub accepts {MOST_NOTE_BYTES:,}: split it.")
    note = parse(change.text)
    validate(note)
    _refuse_nul("".join([note.title, note.project, note.machine_id, note.created_at, note.updated_at, *note.tags]))
    if note.id != change.id:
        raise InvalidNote(f"The text is the one of note {note.id!r}, not of {change.id!r}.")
    if note.scope != "portable":
        raise InvalidNote("The note is machine-local.", "Such a note stays on its machine.")
    clean = without_secrets(note)
    text = change.text if clean is note else render(clean)
    if kinds := _left_in_front(clean):
        raise InvalidNote(f"The front matter holds a secret ({', '.join(kinds)}).", "Remove it from the note.")
    return replace(change, text=text, note=clean, redacted=clean is not note)


def _left_in_front(note: Memory) -> list[str]:
    """The kinds of secrets in lines of the front matter that are not ours to rewrite."""
    front = "\n".join([*note.extra.values(), *(str(value) for value in note.engram.values())])
    return removed_kinds(front, redact(front)) if front else []


def _size(text: str) -> int:
    """The bytes of a text that PostgreSQL can store."""
    _refuse_nul(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidNote("The note is not valid Unicode.", "Save it as UTF-8.") from error


def _refuse_nul(text: str) -> None:
    """Refuse what PostgreSQL cannot store; front matter can name the character without having it."""
    if "\0" in text:
        raise InvalidNote("The note holds a NUL character.", "Remove it: the hub cannot store it.")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
