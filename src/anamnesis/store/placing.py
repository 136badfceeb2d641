"""Where a note is written when it replaces another version of itself, and what it keeps of that version."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from itertools import chain, count
from typing import Any

from anamnesis.errors import InvalidNote
from anamnesis.notes import Memory
from anamnesis.store.files import NoteFile, note_path


def readable(file: NoteFile) -> Memory:
    """The note of a file; raises if it cannot be read, as such a file is never overwritten."""
    if file.memory is None:
        raise InvalidNote(f"{file.path}, line {file.line}: {file.problem}", "Fix the file first.", file.line)
    return file.memory


def place(memory: Memory, found: NoteFile | None, exists: Callable[[str], bool]) -> str:
    """The path for a note: that of the file that held it, unless its type or scope changed; never another file's."""
    old = readable(found) if found else None
    if found and old and (memory.type, memory.scope) == (old.type, old.scope):
        return found.path
    proper = note_path(memory)
    others = (f"{proper.removesuffix('.md')}-{number}.md" for number in count(2))
    return next(path for path in chain([proper], others) if (found and path == found.path) or not exists(path))


_TEXTS = ("title", "body", "project", "prov_session")


def without_secrets(memory: Memory, fields: Collection[str] = (*_TEXTS, "tags")) -> Memory:
    """A note with the secrets redacted in these fields; no note that a program writes may hold one."""
    from anamnesis.notes.redaction import redact  # takes 10 ms, which reads need not spend

    clean: dict[str, Any] = {name: redact(getattr(memory, name)) for name in _TEXTS if name in fields}
    if "tags" in fields:
        clean["tags"] = [redact(tag) for tag in memory.tags]
    is_clean = all(getattr(memory, name) == value for name, value in clean.items())
    return memory if is_clean else replace(memory, **clean)


def with_foreign_lines(memory: Memory, found: NoteFile | None) -> Memory:
    """Add to a note made without its file what that file has beyond our fields: foreign front matter, line ends."""
    if found is None or memory.extra or memory.engram:
        return memory
    old = readable(found)
    return replace(memory, engram=old.engram, extra=old.extra, newline=old.newline)
