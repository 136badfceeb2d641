"""Records imported and exported versions by note id, to distinguish edits here from changes there.

Imports are in imported.json. Each export folder has its own file, so that edits in that folder, and in no other, go
back to their notes.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from anamnesis.disk import write_atomically
from anamnesis.importers.foreign_record import Record
from anamnesis.notes import Memory, render

_FILE = "imported.json"
_EXPORTS = "exported"


class LedgerEntry(NamedTuple):
    """The digests of an imported note and of its record; earlier releases wrote no `record`."""

    note: str
    record: str = ""


class ImportLedger:
    """The entries of one home, or of one export folder. `save` writes them."""

    def __init__(self, root: Path, exported_to: Path | None = None) -> None:
        self._path = root / _FILE
        if exported_to:
            name = hashlib.blake2b(os.fsencode(exported_to.resolve()), digest_size=8).hexdigest()
            self._path = root / _EXPORTS / f"{name}.json"
        self._entries = _read(self._path)
        self._is_changed = False

    @property
    def ids(self) -> list[str]:
        return [*self._entries]

    def __contains__(self, note_id: str) -> bool:
        return note_id in self._entries

    def get(self, note_id: str) -> LedgerEntry | None:
        found = self._entries.get(note_id)
        return LedgerEntry(*found.split(" ", 1)) if found is not None else None

    def set(self, note_id: str, entry: LedgerEntry) -> None:
        self._is_changed = self._is_changed or self.get(note_id) != entry
        self._entries[note_id] = " ".join(filter(None, entry))

    def save(self) -> None:
        if self._is_changed:
            self._path.parent.mkdir(mode=0o700, exist_ok=True)
            write_atomically(self._path, json.dumps(self._entries, indent=1).encode(), mode=0o600)
            self._is_changed = False


def note_digest(note: Memory) -> str:
    return _digest([note.title, note.body, note.type, note.project])


def whole_digest(note: Memory) -> str:
    """The digest of everything that a person may edit."""
    return _digest([render(replace(note, updated_at="", engram={}, newline="\n"))])


def record_digest(record: Record, project: str) -> str:
    """The digest of a record without its times. For an exported file, that of its exact front matter and text, because
    the titles that its links are translated to may change.
    """
    if record.note_id and record.whole:
        return _digest([render(replace(record.whole, newline="\n"))])
    said = [record.title, record.body, record.type, project, [*record.tags], record.session, record.model]
    return _digest([*said, dict(record.fields), render(record.whole) if record.whole else ""])


def _digest(content: list[Any]) -> str:
    text = json.dumps(content, default=str)
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


def _read(path: Path) -> dict[str, str]:
    try:
        entries = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return {id: entry for id, entry in entries.items() if isinstance(entry, str)} if isinstance(entries, dict) else {}
