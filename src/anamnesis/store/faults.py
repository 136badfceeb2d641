"""Faults of a store that `doctor` finds, and their fixes: damage, drift, files that block note folders."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

from anamnesis.disk import TEMPORARY_SUFFIX, move
from anamnesis.store.files import STAGE, TRASH, TREES, folder_of, free_place, is_type_folder, telling
from anamnesis.store.ids import utcnow
from anamnesis.store.refresh import RefreshCounts, difference
from anamnesis.store.store import MemoryStore


def damage(store: MemoryStore) -> list[str]:
    """The damage that SQLite finds in the index; empty if there is none."""
    return store._index.write_found(_damage)


def drift(store: MemoryStore) -> RefreshCounts:
    """What `refresh` would find now."""
    return RefreshCounts.of(store._index.read(lambda db: difference(db, store._files)))


def leftovers(root: Path) -> list[str]:
    """Temporary files that killed writes left in the note folders."""
    stage = root / STAGE
    staged = [f"{STAGE}/{name}" for name in os.listdir(stage)] if stage.is_dir() else []
    names = ((path, path.rpartition("/")[2]) for path in (*_walk(root), *sorted(staged)))
    return [path for path, name in names if name.startswith(".") and name.endswith(TEMPORARY_SUFFIX)]


def links(root: Path) -> list[str]:
    """Symbolic links in the note folders, which are not followed."""
    return [path for path in _walk(root) if os.path.islink(root / path)]


def blocking(root: Path) -> list[str]:
    """Files and links in the place of a note type's folder, so that no note of the type can be written."""
    found: list[str] = []
    for tree in TREES.values():
        with contextlib.suppress(OSError), os.scandir(root / tree) as entries:
            named = (entry for entry in entries if is_type_folder(entry.name))
            found += [f"{tree}/{each.name}" for each in named if not each.is_dir(follow_symlinks=False)]
    return sorted(found)


def clear(store: MemoryStore, path: str) -> None:
    """Move a file that no note can use to the trash: one that blocks a note type's folder, or a temporary file."""
    if path not in (*blocking(store.root), *leftovers(store.root)):
        return
    source = store.root / path
    with telling("move", source):
        target = free_place(store.root / TRASH / folder_of(path), source.name, utcnow())
        if source.is_symlink():
            target.symlink_to(os.readlink(source))
            source.unlink()
        else:
            move(source, target)
    store.refresh()


def unlistable(root: Path) -> list[str]:
    """Folders of notes that cannot be listed; their notes stay in the index."""
    failed: list[OSError] = []
    for tree in TREES.values():
        for _ in os.walk(root / tree, onerror=failed.append):
            pass
    there = [error.filename for error in failed if not isinstance(error, FileNotFoundError)]
    return sorted(Path(name).relative_to(root).as_posix() for name in there)


def _damage(db: sqlite3.Connection) -> list[str]:
    """What the two integrity checks of SQLite find; FTS5's needs a write transaction."""
    found = [row[0] for row in db.execute("PRAGMA quick_check(5)") if row[0] != "ok"]
    for table in ("memories_fts", "memory_parts"):
        try:
            db.execute(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")
        except sqlite3.DatabaseError as error:
            found.append(f"full-text index: {error}")
    return found


def _walk(root: Path) -> list[str]:
    """Every path in the trees, except inside hidden folders such as git's."""
    found: list[str] = []
    for tree in TREES.values():
        for folder, folders, names in os.walk(root / tree):
            folders[:] = [name for name in folders if not name.startswith(".")]
            inside = Path(folder).relative_to(root).as_posix()
            found += [f"{inside}/{name}" for name in (*folders, *names)]
    return sorted(found)
