"""Deleted notes that can be restored: those in the trash, and those that Engram deleted, which are hidden."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from anamnesis.notes import Memory, Scope, utc_time
from anamnesis.notes.foreign import Origin
from anamnesis.store import queries
from anamnesis.store.files import Trashed
from anamnesis.store.store import MemoryStore


@dataclass(frozen=True, slots=True)
class DeletedNote:
    """A note that `restore` brings back."""

    id: str
    title: str
    scope: Scope
    path: str
    deleted_at: str
    origin: Origin | None = None

    def shown(self) -> dict[str, Any]:
        """JSON of it."""
        named = {name: getattr(self, name) for name in ("id", "title", "scope", "path", "deleted_at")}
        return named | (self.origin.shown() if self.origin else {})


def deleted_notes(store: MemoryStore) -> list[DeletedNote]:
    """All deleted notes, the last deleted first; a note that was deleted several times is listed once per version.

    The trash also has earlier versions of notes that exist, which are in their histories and not listed here.
    """
    files = store.trashed()
    existing = store.hashes_of({each.id for each in files})
    trashed = [
        DeletedNote(each.id, note.title if note else "", each.scope, each.path, _moment(each), _origin(store, note))
        for each in files
        if each.id not in existing
        for note in (_note(store, each.path),)
    ]
    hidden = [
        DeletedNote(id, title, scope, path, utc_time(deleted_at), _origin(store, _note(store, path)))
        for id, title, scope, path, deleted_at in store._catalogue.ask(queries.hidden)
    ]
    return sorted([*trashed, *hidden], key=lambda each: (each.deleted_at, each.path), reverse=True)


def _note(store: MemoryStore, path: str) -> Memory | None:
    file = store._files.read(path)
    return file.memory if file else None


def _origin(store: MemoryStore, note: Memory | None) -> Origin | None:
    return store.origins_of_whole({note.id: note}).get(note.id) if note else None


def _moment(trashed: Trashed) -> str:
    """The time of deletion, from the name of a file in the trash."""
    with contextlib.suppress(ValueError):
        stamp = datetime.strptime(trashed.deleted_at.partition("-")[0], "%Y%m%dT%H%M%S")
        return stamp.replace(tzinfo=UTC).isoformat()
    return ""
