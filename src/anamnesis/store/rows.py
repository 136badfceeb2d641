"""The rows of the index: how one file's note is inserted, replaced and removed, inside a transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, NamedTuple

from anamnesis.notes import Memory
from anamnesis.notes.record import without_ticking
from anamnesis.recall.identifiers import joined_parts
from anamnesis.store import queries
from anamnesis.store.files import TREES, NoteFile, folder_of, note_path, proper_path, scope_of
from anamnesis.store.kept import ReplacedVersion
from anamnesis.store.steps import Step
from anamnesis.store.unsynced import record_listed

if TYPE_CHECKING:
    from anamnesis.store.index import Connection

# The rank of a file among those of one id: the newer note wins, then the file in its proper place, then the last path.
_Claim = tuple[str, bool, str]

# How many of the latest files that are not notes are checked together with the folders.
_LATEST_PROBLEMS = 20

_CONTENT_FIELDS = tuple(each.name for each in fields(Memory) if each.name not in ("updated_at", "engram"))

_THE_FILE = "folder = (SELECT number FROM folders WHERE path = :folder) AND name = :name"


class IndexedFiles(NamedTuple):
    """The ids of the notes that deleted files held, and whether only new notes were added, each with its first file."""

    removed: list[str]
    only_added: bool


class _Words:
    """Changes of the word indexes, made in one batch at the end.

    FTS5 flushes its buffer before each statement that fires a trigger. Without the batch, writing and merging a segment
    per note would cost as much as everything else.
    """

    def __init__(self) -> None:
        self._removed: list[tuple[int]] = []
        self._added: dict[int, tuple[int, str, str, str, str]] = {}
        self._parts: dict[int, tuple[int, str]] = {}

    def add(self, number: int, memory: Memory) -> None:
        tags = " ".join(memory.tags)
        self._added[number] = number, memory.id, memory.title, memory.body, tags
        if parts := joined_parts(f"{memory.title}\n{memory.body}\n{tags}"):
            self._parts[number] = number, parts

    def remove(self, number: int) -> None:
        self._added.pop(number, None)
        self._parts.pop(number, None)
        self._removed.append((number,))

    def has(self, number: int) -> bool:
        return number in self._added

    def write(self, db: Connection) -> None:
        if self._removed:
            db.executemany("DELETE FROM memories_fts WHERE rowid = ?", self._removed)
            db.executemany("DELETE FROM memory_parts WHERE rowid = ?", self._removed)
        if self._added:
            query = "INSERT INTO memories_fts (rowid, id, title, body, tags) VALUES (?, ?, ?, ?, ?)"
            db.executemany(query, self._added.values())
        if self._parts:
            db.executemany("INSERT INTO memory_parts (rowid, parts) VALUES (?, ?)", self._parts.values())
        self._removed.clear()
        self._added.clear()
        self._parts.clear()


def save_files(db: Connection, files: Mapping[str, NoteFile | None], exists: Callable[[str], bool]) -> IndexedFiles:
    """Index files as they were read, None for a deleted one."""
    if not files:
        return IndexedFiles([], only_added=True)
    words = _Words()
    # A new folder gets the mtime 0, so that the next refresh lists it.
    folders = [(folder,) for folder in {folder_of(path) for path, file in files.items() if file}]
    db.executemany("INSERT OR IGNORE INTO folders (path, mtime_ns) VALUES (?, 0)", folders)
    added = [_save(db, file, exists, words) for file in files.values() if file]
    removed = [_forget(db, path, words) for path, file in files.items() if not file]
    words.write(db)
    return IndexedFiles([*filter(None, removed)], only_added=all(added) and not removed)


def _save(db: Connection, file: NoteFile, exists: Callable[[str], bool], words: _Words) -> bool:
    """Index a file: its note, or the reason why it has none; returns whether that only added a note."""
    folder, _, name = file.path.rpartition("/")
    memory_id = file.memory.id if file.memory else None
    row = {
        "folder": folder,
        "name": name,
        "size": file.size,
        "mtime_ns": file.mtime_ns,
        "hash": file.hash,
        "memory_id": memory_id,
        "problem": file.problem,
        "line": file.line,
    }
    # Most files are new, and inserting takes no longer than looking for them.
    added = db.execute(
        "INSERT INTO files (folder, name, size, mtime_ns, hash, memory_id, problem, line)"
        " VALUES ((SELECT number FROM folders WHERE path = :folder),"
        " :name, :size, :mtime_ns, :hash, :memory_id, :problem, :line) ON CONFLICT DO NOTHING",
        row,
    )
    if not added.rowcount:
        known = db.execute(f"SELECT hash, memory_id, mtime_ns FROM files WHERE {_THE_FILE}", row).fetchone()
        if known[0] == file.hash and not file.is_bare:  # a bare note has the time of its file
            db.execute(f"UPDATE files SET size = :size, mtime_ns = :mtime_ns WHERE {_THE_FILE}", row)
            return False
        if known[1] is not None and known[0] != file.hash:
            _replace(db, known[1], file.path, known[2], words, file.memory)
        if known[1] not in (None, memory_id):
            _release(db, known[1], file.path, words)
        db.execute(
            "UPDATE files SET size = :size, mtime_ns = :mtime_ns, hash = :hash, memory_id = :memory_id,"
            f" problem = :problem, line = :line WHERE {_THE_FILE}",
            row,
        )
    is_first = file.memory is not None and _claim(db, file.path, file.memory, exists, words)
    return is_first and bool(added.rowcount)


def _forget(db: Connection, path: str, words: _Words) -> str | None:
    """Remove a deleted file's row, and its note if no other file holds it; returns the note's id."""
    folder, _, name = path.rpartition("/")
    row = {"folder": folder, "name": name}
    known = db.execute(f"SELECT memory_id, mtime_ns FROM files WHERE {_THE_FILE}", row).fetchone()
    if known and known[0] is not None:
        _replace(db, known[0], path, known[1], words)
    db.execute(f"DELETE FROM files WHERE {_THE_FILE}", row)
    if not known or known[0] is None:
        return None
    _release(db, known[0], path, words)
    return str(known[0])


def record_folder(db: Connection, path: str, mtime_ns: int) -> None:
    """Record that everything in a folder up to this mtime is in the index."""
    recorded = db.execute(
        "INSERT INTO folders (path, mtime_ns) VALUES (:path, :mtime_ns)"
        " ON CONFLICT (path) DO UPDATE SET mtime_ns = excluded.mtime_ns WHERE mtime_ns <> excluded.mtime_ns",
        {"path": path, "mtime_ns": mtime_ns},
    )
    if recorded.rowcount:
        record_listed(db, path)


def advance_folder(db: Connection, step: Step) -> None:
    """Record a folder's mtime after our own change, if the recorded one is `before`; otherwise it must be listed."""
    db.execute(
        "UPDATE folders SET mtime_ns = :after WHERE path = :path AND mtime_ns = :before",
        {"path": step.folder, "before": step.before, "after": step.after},
    )


def has_unread(db: Connection) -> bool:
    """Whether a file is marked to be read again."""
    (found,) = db.execute("SELECT EXISTS (SELECT 1 FROM files WHERE hash = x'')").fetchone()
    return bool(found)


def latest_problems(db: Connection) -> list[tuple[str, int, int]]:
    """The paths of the newest files that are not notes, with size and mtime."""
    return db.execute(
        "SELECT folders.path || '/' || name, size, files.mtime_ns FROM files JOIN folders ON folders.number = folder"
        " WHERE problem IS NOT NULL AND size >= 0 ORDER BY files.mtime_ns DESC LIMIT :most",
        {"most": _LATEST_PROBLEMS},
    ).fetchall()


def forget_folder(db: Connection, path: str) -> None:
    """Remove a deleted folder's row, unless the index has files in it again."""
    db.execute(
        "DELETE FROM folders WHERE path = :path AND NOT EXISTS (SELECT 1 FROM files WHERE folder = number)",
        {"path": path},
    )


def _claim(db: Connection, path: str, memory: Memory, exists: Callable[[str], bool], words: _Words) -> bool:
    """Make this the standing file of its note, unless another file ranks higher; returns whether it is the first."""
    if _insert(db, path, memory, words):
        return True
    number, scope, body_path, updated_at, kind = db.execute(
        "SELECT number, scope, body_path, updated_at, type FROM memories WHERE id = :id", {"id": memory.id}
    ).fetchone()
    other = f"{TREES[scope]}/{body_path}"
    if other != path and exists(other):
        theirs: _Claim = (updated_at, other == proper_path(scope, kind, memory.id), other)
        ours: _Claim = (memory.updated_at, path == note_path(memory), path)
        if ours < theirs:
            return False
    elif other != path:
        _replace(db, memory.id, other, _time_of(db, other), words, memory)
    _delete(db, number, memory.id, words)
    _insert(db, path, memory, words, number)
    if other != path or memory.updated_at < updated_at:
        # Another file was removed or this one has become older: a third one may rank higher now.
        folder, _, name = path.rpartition("/")
        db.execute(
            f"UPDATE files SET hash = x'' WHERE memory_id = :id AND NOT ({_THE_FILE})",
            {"id": memory.id, "folder": folder, "name": name},
        )
    return False


def _release(db: Connection, memory_id: str, path: str, words: _Words) -> None:
    """Remove a note that its file no longer holds; other files that hold it are marked to be read again."""
    row = _standing(db, memory_id, path)
    if row:
        _delete(db, row[0], memory_id, words)
        db.execute("UPDATE files SET hash = x'' WHERE memory_id = :id", {"id": memory_id})


def _replace(db: Connection, memory_id: str, path: str, at: int, words: _Words, by: Memory | None = None) -> None:
    """Record the version that a standing file held, if the file now says something else."""
    row = _standing(db, memory_id, path)
    if row and words.has(row[0]):
        words.write(db)
    note = queries.whole_note(db, row[0]) if row else None
    if note and not (by and _is_same(note, by)):
        db.replaced.append(ReplacedVersion(note, at))


def _is_same(one: Memory, other: Memory) -> bool:
    """Whether two versions differ at most in times and counters."""
    return all(getattr(one, name) == getattr(other, name) for name in _CONTENT_FIELDS) and (
        without_ticking(one.engram) == without_ticking(other.engram)
    )


def _time_of(db: Connection, path: str) -> int:
    folder, _, name = path.rpartition("/")
    row = db.execute(f"SELECT mtime_ns FROM files WHERE {_THE_FILE}", {"folder": folder, "name": name}).fetchone()
    return int(row[0]) if row else 0


def _standing(db: Connection, memory_id: str, path: str) -> tuple[int] | None:
    """The number of a note, if this is its standing file."""
    found: tuple[int] | None = db.execute(
        "SELECT number FROM memories WHERE id = :id AND scope = :scope AND body_path = :body_path",
        {"id": memory_id, "scope": scope_of(path), "body_path": path.partition("/")[2]},
    ).fetchone()
    return found


def _insert(db: Connection, path: str, memory: Memory, words: _Words, number: int | None = None) -> bool:
    """Insert a note; False if there is one with its id."""
    inserted = db.execute(
        "INSERT INTO memories (number, id, type, title, body_path, project, machine_id, scope, created_at,"
        " updated_at, prov_source, prov_model, prov_session, confidence, supersedes, deleted_at, rest)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
        (
            number,
            memory.id,
            memory.type,
            memory.title,
            path.partition("/")[2],
            memory.project,
            memory.machine_id,
            memory.scope,
            memory.created_at,
            memory.updated_at,
            memory.prov_source,
            memory.prov_model or None,
            memory.prov_session or None,
            memory.confidence,
            " ".join(memory.superseded) or None,
            str(memory.engram["deleted_at"]) if memory.is_hidden else None,
            _rest(memory),
        ),
    )
    if not inserted.rowcount:
        return False
    if memory.is_hidden:
        return True
    if memory.tags:
        tags = [(memory.id, tag) for tag in memory.tags]
        db.executemany("INSERT INTO memory_tags (memory_id, tag) VALUES (?, ?)", tags)
    if memory.superseded:
        pairs = [(memory.id, superseded) for superseded in memory.superseded]
        db.executemany("INSERT INTO supersessions (memory_id, superseded_id) VALUES (?, ?)", pairs)
    if memory.extra:
        from anamnesis.notes.marks import mark_values  # hooks need not import it

        marks = [(memory.id, name, value) for name, values in mark_values(memory).items() for value in values]
        db.executemany("INSERT OR IGNORE INTO marks (memory_id, name, value) VALUES (?, ?, ?)", marks)
    words.add(inserted.lastrowid or 0, memory)
    return True


def _rest(memory: Memory) -> str | None:
    rest = {"engram": memory.engram, "extra": memory.extra, "newline": memory.newline}
    changed = {name: value for name, value in rest.items() if value not in ({}, "\n")}
    return json.dumps(changed) if changed else None


def _delete(db: Connection, number: int, memory_id: str, words: _Words) -> None:
    words.remove(number)
    db.execute("DELETE FROM memory_tags WHERE memory_id = ?", (memory_id,))
    db.execute("DELETE FROM supersessions WHERE memory_id = ?", (memory_id,))
    db.execute("DELETE FROM marks WHERE memory_id = ?", (memory_id,))
    db.execute("DELETE FROM memories WHERE number = ?", (number,))
