"""Checks and fixes of a store for `doctor`: damage, drift, misplaced files and duplicates."""

from __future__ import annotations

from anamnesis.store import queries
from anamnesis.store.ids import utcnow
from anamnesis.store.refresh import Changes, difference
from anamnesis.store.store import MemoryStore


def damage(store: MemoryStore) -> list[str]:
    """The damage that SQLite finds in the index; empty if there is none."""
    return store._index.write_found(queries.damage)


def drift(store: MemoryStore) -> Changes:
    """What `refresh` would find now."""
    return Changes.of(store._index.read(lambda db: difference(db, store._files)))


def leftovers(store: MemoryStore) -> list[str]:
    """Temporary files that killed writes left in the note folders."""
    return store._files.leftovers()


def links(store: MemoryStore) -> list[str]:
    """Symbolic links in the note folders, which are not followed."""
    return store._files.links()


def blocking(store: MemoryStore) -> list[str]:
    """Files and links in the place of a note type's folder."""
    return store._files.blocking()


def clear(store: MemoryStore, path: str) -> None:
    """Move a file or link out of the place of a note type's folder, to the trash."""
    if path in store._files.blocking():
        store._files.clear(path, utcnow())
        store.refresh()


def unlistable(store: MemoryStore) -> list[str]:
    """Folders of notes that cannot be listed; their notes stay in the index."""
    return store._files.unlistable()


def discard_second(store: MemoryStore, path: str) -> None:
    """Move a duplicate to the trash: a file whose note another file stands for."""
    file = store._files.read(path)
    if file and file.memory and any(each.path == path and each.owner for each in store.problems()):
        store._files.discard(path, file.memory, utcnow())
        store.refresh()
