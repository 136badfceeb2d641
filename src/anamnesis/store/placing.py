"""Prepares a note to be written: its path, the former version's foreign lines, and the redaction of secrets."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from itertools import chain, count
from typing import Any

from anamnesis.errors import InvalidNote
from anamnesis.notes import Memory
from anamnesis.notes.record import TICKING
from anamnesis.store.files import NoteFile, note_path


def readable(file: NoteFile) -> Memory:
    """The note of a file; raises if the file is not readable as one, because such a file is never overwritten."""
    if file.memory is None:
        raise InvalidNote(f"{file.path}, line {file.line}: {file.problem}", "Fix the file first.", file.line)
    return file.memory


def place(memory: Memory, found: NoteFile | None, exists: Callable[[str], bool]) -> str:
    """The path for a note: that of its former file, unless its type or scope changed; never that of another file."""
    old = readable(found) if found else None
    if found and old and (memory.type, memory.scope) == (old.type, old.scope):
        return found.path
    proper = note_path(memory)
    others = (f"{proper.removesuffix('.md')}-{number}.md" for number in count(2))
    return next(path for path in chain([proper], others) if (found and path == found.path) or not exists(path))


_TEXTS = ("title", "body", "project", "prov_session")


def without_secrets(memory: Memory, fields: Collection[str] = (*_TEXTS, "tags")) -> Memory:
    """A note with the secrets redacted in these fields; no note that a program writes may hold one.

    What one of these fields reveals as a secret is removed from the others too, and from the lines of other programs.
    What a person has typed into another field is only removed from these.
    """
    from anamnesis.notes.redaction import redact, secrets_in, without_known  # takes 10 ms, which reads need not spend

    texts = {name: [getattr(memory, name)] for name in _TEXTS} | {"tags": memory.tags}
    given = secrets_in(text for name in texts if name in fields for text in texts[name])
    kept = secrets_in([*(text for name in texts if name not in fields for text in texts[name]), *memory.extra.values()])

    def clean(name: str, text: str) -> str:
        if name not in fields:
            return without_known(text, given) if given else text
        text = redact(text)
        return without_known(text, {**kept, **given}) if kept or given else text

    changes: dict[str, Any] = {name: clean(name, getattr(memory, name)) for name in (*_TEXTS, "prov_model")}
    changes["tags"] = [clean("tags", tag) for tag in memory.tags]
    if given:
        changes["extra"] = {key: clean("extra", lines) for key, lines in memory.extra.items()}
        changes["engram"] = {
            key: clean("engram", value) if isinstance(value, str) and key not in TICKING else value
            for key, value in memory.engram.items()
        }
    is_clean = all(getattr(memory, name) == value for name, value in changes.items())
    return memory if is_clean else replace(memory, **changes)


def of_new_type(before: Memory, memory: Memory) -> Memory:
    """A changed note without Engram's word for its former type, if its type has changed and the word has not."""
    if memory.type == before.type or memory.engram.get("type") != before.engram.get("type"):
        return memory
    return replace(memory, engram={name: value for name, value in memory.engram.items() if name != "type"})


def with_foreign_lines(memory: Memory, found: NoteFile | None) -> Memory:
    """Add to a note the foreign front matter and the line ends of its former file, if it was made without them."""
    if found is None or memory.extra or memory.engram:
        return memory
    old = readable(found)
    return replace(memory, engram=old.engram, extra=old.extra, newline=old.newline)
