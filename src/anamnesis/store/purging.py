"""Purges a note: removes every file that holds it, in the trees and in the trash, and leaves a tombstone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from anamnesis.errors import StoreUnavailable
from anamnesis.notes import check_id, named_ids
from anamnesis.notes.merge import CONFLICT_TAG, conflict_of
from anamnesis.store import changeset
from anamnesis.store.faults import leftovers
from anamnesis.store.files import telling
from anamnesis.store.problems import paths_of, unreadable
from anamnesis.store.store import MemoryStore
from anamnesis.store.tombstones import bury, purged_ids


def purge(store: MemoryStore, note_id: str, *, follower: str = "") -> None:
    """Remove a note for good, whatever its state; the change is not pending for `follower`.

    An interrupted purge is completed by purging again.
    """
    with store._catalogue.alone():
        with telling("purge", store.root / check_id(note_id)):
            bury(store.root, note_id)  # first: a partly removed note must not come back
        held = sorted({*_files_of(store, note_id)})
        if held:
            store._catalogue.save([], held, lambda: [store._files.remove(path) for path in held], follower=follower)
        for trashed in store.trashed():
            if trashed.id == note_id:
                store._files.remove(trashed.path)
        store.kept.forget([note_id])
        changeset.forget(store, [note_id])
        store.usage.forget([note_id])
        store.decisions.forget([note_id])
        store.accepted.forget([note_id])
        store.shared.forget([note_id])


def versions_of(store: MemoryStore, note_id: str) -> list[str]:
    """A note, and the conflict notes with versions of it that a merge set aside, also those in the trash."""
    live = (store.file(other) for other in store.tagged(CONFLICT_TAG))
    trashed = (store._files.read(each.path) for each in store.trashed())
    others = [file.memory for file in (*live, *trashed) if file and file.memory]
    return list(dict.fromkeys([note_id, *(note.id for note in others if conflict_of(note) == note_id)]))


def erase(store: MemoryStore) -> bool:
    """Erase purged notes from the databases and from files of killed writes; False if another program prevented it."""
    purged = purged_ids(store.root)
    for path in leftovers(store.root):
        if PurePosixPath(path).name[1:].partition(".md.")[0] in purged:
            store._files.remove(path)
    for database in (store.kept, store.usage, store.decisions):
        database.forget(purged)  # also notes of a purge that was killed
    changeset.forget(store, purged)
    databases = (store.kept, store.usage, store.decisions, store._index, store.ranking)
    is_done = [each.erase() for each in databases]
    return all(is_done)


def _files_of(store: MemoryStore, note_id: str) -> Iterator[str]:
    """The files of a note: those that hold it, and unreadable ones that are about it."""
    yield from (file.path for file in store._catalogue.find([note_id]).values())
    yield from store._catalogue.ask(lambda db: paths_of(db, note_id))
    for problem in store._catalogue.ask(unreadable):
        if is_about(store, problem.path, note_id):
            yield problem.path


def is_about(store: MemoryStore, path: str, note_id: str) -> bool:
    """Whether a file is about a note: by the first id in its front matter, else by the file's name."""
    try:
        store._files.refuse_links(path)
        named = named_ids((store.root / path).read_bytes())
    except (OSError, StoreUnavailable):
        return False
    if named:
        return named[0] == note_id
    stem = PurePosixPath(path).stem
    return stem == note_id or stem.startswith(f"{note_id}.conflict-")
