"""Refreshes the index: finds the files that differ from it, and reads only these.

A moved note is indexed before its former file is removed from the index, and every file is checked once more inside
the transaction that indexes it, so that a slow reader never overwrites what a writer has indexed since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from anamnesis.store.files import TREES, Folder, NoteFile, NoteFiles, folder_of
from anamnesis.store.rows import forget_folder, has_unread, latest_problems, record_folder, save_files

if TYPE_CHECKING:
    from anamnesis.store.index import Connection

Progress = Callable[[int, int], None]
# Files indexed in one transaction: other writers wait 0.1 s for it. Smaller ones make FTS5 merge more often.
_BATCH = 1000


# `read` runs a query on one snapshot of the index; `write` runs a change as one transaction.
Read = Callable[[Callable[["Connection"], Any]], Any]
Write = Callable[[Callable[["Connection"], object]], object]


class IndexDifference:
    """The differences between the files and the index."""

    def __init__(self) -> None:
        self.changed: list[str] = []
        self.added = 0  # how many files of `changed` are not in the index
        self.gone: list[str] = []
        self.folders: list[Folder] = []
        self.recorded: dict[str, int] = {}  # the mtimes of folders that the index had
        self.gone_folders: list[str] = []


class RefreshCounts(NamedTuple):
    """How many new, edited and removed files a refresh found."""

    added: int
    updated: int
    removed: int

    @classmethod
    def of(cls, found: IndexDifference) -> RefreshCounts:
        return cls(found.added, len(found.changed) - found.added, len(found.gone))


def refresh(
    read: Read,
    write: Write,
    files: NoteFiles,
    *,
    only: Iterable[str] | None = None,
    progress: Progress | None = None,
) -> IndexDifference:
    """Index every difference, in all folders or `only` in some; returns the differences."""
    found: IndexDifference = read(lambda db: difference(db, files, only=only))
    restless: set[str] = set()
    for start in range(0, len(found.changed), _BATCH):
        paths = found.changed[start : start + _BATCH]
        write(partial(_save, files, [file for path in paths if (file := files.read(path))], restless))
        if progress:
            progress(start + len(paths), len(found.changed))
    if found.gone or found.folders or found.gone_folders:
        write(partial(_close, files, found, restless))
    while unread := read(_unread):
        write(partial(save_files, files={path: files.read(path) for path in unread}, exists=files.exists))
    return found


def difference(db: Connection, files: NoteFiles, *, only: Iterable[str] | None = None) -> IndexDifference:
    """Compare listings with rows; reads no file."""
    found = IndexDifference()
    rows = db.execute("SELECT path, number, mtime_ns FROM folders").fetchall()
    recorded = {path: number for path, number, _ in rows}
    found.recorded = {path: mtime_ns for path, _, mtime_ns in rows}
    waiting = list(TREES.values()) if only is None else list(only)
    listed = set()
    while waiting:
        path = waiting.pop()
        listed.add(path)
        folder = files.list_folder(path)
        if folder and not folder.is_listed:
            found.folders.append(folder)
            listed.update(other for other in recorded if other.startswith(f"{path}/"))
            continue
        if folder is None:
            found.gone_folders.append(path)
            folder = Folder(path, -1, {}, [])
        else:
            found.folders.append(folder)
        for name, size, mtime_ns in _known_files(db, recorded.get(path)):
            seen = folder.files.pop(name, None)
            if seen is None:
                found.gone.append(f"{path}/{name}")
            elif seen != (size, mtime_ns):
                found.changed.append(f"{path}/{name}")
        found.changed += [f"{path}/{name}" for name in folder.files]
        found.added += len(folder.files)
        folder.files.clear()
        if only is None:
            waiting += folder.folders
        else:
            waiting += [inner for inner in folder.folders if inner not in recorded and inner not in listed]
    if only is None:
        for path in recorded.keys() - listed:
            found.gone += [f"{path}/{name}" for name, *_ in _known_files(db, recorded[path])]
            found.gone_folders.append(path)
    found.changed.sort()
    return found


def outdated(db: Connection, files: NoteFiles) -> list[str] | None:
    """The folders whose mtime is not the recorded one; None if there is nothing to do.

    Takes a few system calls, whatever the number of notes. The latest files that are not notes are checked as well:
    they may have been half written, and completing them does not change a folder's mtime.
    """
    recorded = db.execute("SELECT path, mtime_ns FROM folders")
    changed = [path for path, mtime_ns in recorded if files.folder_time(path) != mtime_ns]
    for path, *seen in latest_problems(db):
        if files.seen(path) != tuple(seen) and (folder := folder_of(path)) not in changed:
            changed.append(folder)
    return changed if changed or has_unread(db) else None


def _known_files(db: Connection, folder: int | None) -> Iterable[tuple[str, int, int]]:
    """The names of a folder's indexed files, with size and mtime: one at a time, since there may be 100,000."""
    return db.execute("SELECT name, size, mtime_ns FROM files WHERE folder = :folder", {"folder": folder})


def _save(files: NoteFiles, read: list[NoteFile], restless: set[str], db: Connection) -> None:
    """Index files that have not changed since they were read; add the folders of the others to `restless`."""
    still = {file.path: file for file in read if file.size == -1 or files.seen(file.path) == (file.size, file.mtime_ns)}
    save_files(db, still, files.exists)
    restless.update(folder_of(file.path) for file in read if file.path not in still)


def _close(files: NoteFiles, found: IndexDifference, restless: set[str], db: Connection) -> None:
    save_files(db, dict.fromkeys(path for path in found.gone if not files.exists(path)), files.exists)
    now = dict(db.execute("SELECT path, mtime_ns FROM folders"))
    for folder in found.folders:
        if folder.path in restless:
            record_folder(db, folder.path, 0)
        elif now.get(folder.path, 0) in (0, found.recorded.get(folder.path)):
            record_folder(db, folder.path, folder.mtime_ns)
        # Else a writer has recorded a later mtime since: with the earlier one, the folder would be listed again.
    for path in found.gone_folders:
        if path in TREES.values():
            record_folder(db, path, -1)  # the row stays, so that the tree is found when it is back
        else:
            forget_folder(db, path)


def _unread(db: Connection) -> list[str]:
    """Duplicates of an id whose original was removed."""
    rows = db.execute(
        "SELECT folders.path || '/' || name FROM files JOIN folders ON folders.number = folder WHERE hash = x''"
    )
    return [path for (path,) in rows]
