"""The note files of a store: where they are, how they are read, written, listed and moved to the trash.

Paths are relative to the store's root and use "/", as in the index. No symbolic link is followed
below `memory/` and `local/`: a synced folder must not be able to point outside the store.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from anamnesis.config import TREES as TREES
from anamnesis.disk import (
    TEMPORARY_SUFFIX,
    create_beside,
    fill,
    move,
    remove,
    remove_unchanged,
    replace_unchanged,
    size_and_mtime,
    stays_replaced,
    sync_files,
    sync_folder,
)
from anamnesis.errors import InvalidNote, NoteConflict, NoteNotFound, StoreUnavailable
from anamnesis.light import blake2b, lazy_pattern
from anamnesis.notes import SCOPES, TYPES, Memory, MemoryType, Scope, decode, file_time, parse, validate, writable
from anamnesis.store.kept import KeptVersions
from anamnesis.store.steps import Step

TRASH = "trash"
# The user's decisions about texts of others, in each tree: no note, and written by no tool of an agent.
ACCEPTED = "accepted.txt"
# Where notes are written before they are renamed into their folders: outside of the trees, where a watcher reports
# each file once, and in a small folder, where creating a file is cheaper than among many thousands.
STAGE = "staged"
# Opening a named pipe must not block, and a symbolic link must not be followed.
_READ = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
_SHAPELESS = lazy_pattern("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
# Files at the top of a tree that hosts and people add to any repository.
_DESCRIBING = lazy_pattern(
    r"(?:readme|licen[cs]e|copying|notice)(?:[.-].*)?|\.git(?:ignore|attributes|keep)", re.IGNORECASE
)
_UNREADABLE = (-1, -1)  # recorded as size and mtime of a file that cannot be read
# The coarsest tick of the clock by which Linux sets file times. A change within the tick of a listing would have
# the mtime that the listing recorded.
_CLOCK_TICK_NS = 20_000_000


class NoteFile(NamedTuple):
    """One *.md file as read: its note, or the reason why it is not a note.

    `front` is its front matter, if this process has just written it.
    """

    path: str
    size: int
    mtime_ns: int
    hash: bytes
    memory: Memory | None = None
    problem: str | None = None
    line: int = 0
    is_bare: bool = False  # without front matter
    front: str = ""


class Folder(NamedTuple):
    """One folder as listed: its *.md files by name with size and mtime, and the folders in it."""

    path: str
    mtime_ns: int
    files: dict[str, tuple[int, int]]
    folders: list[str]
    is_listed: bool = True


class Trashed(NamedTuple):
    """A deleted note that can be restored."""

    id: str
    scope: Scope
    path: str
    deleted_at: str

    @property
    def home(self) -> str:
        """The path to which it is restored."""
        return proper_path(self.scope, self.path.split("/")[-2], self.id)


def is_type_folder(name: str) -> bool:
    """Whether a name in a tree is that of a note type's folder, also on file systems that ignore case, invisible
    characters, or trailing dots and spaces."""
    return without_shapeless(name).rstrip(". ").casefold() in TYPES


def describes_repository(path: str) -> bool:
    """Whether a path in a tree is that of a README, a licence or a file of git's own: neither a note nor a fault."""
    return "/" not in path and _DESCRIBING.fullmatch(path) is not None


def without_shapeless(name: str) -> str:
    """A name without the invisible characters that macOS ignores when it compares names."""
    return name if name.isascii() else _SHAPELESS.sub("", name)


def note_path(memory: Memory) -> str:
    """Where a note of this type, scope and id belongs."""
    return proper_path(memory.scope, memory.type, memory.id)


def proper_path(scope: Scope, kind: MemoryType, note_id: str) -> str:
    return f"{TREES[scope]}/{kind}/{note_id}.md"


def scope_of(path: str) -> Scope:
    """The scope of a file: the tree it is in takes precedence over its front matter."""
    return SCOPES[path.startswith("local/")]


class NoteFiles:
    """The two trees of note files and the trash, under one root."""

    def __init__(self, root: Path, kept: KeptVersions | None = None, *, only_to_read: bool = False) -> None:
        self.root = root
        self._kept = kept or KeptVersions(root, 0)
        self._root = str(root)  # joining strings is 20 times faster than joining paths
        if only_to_read:
            with telling("read", root), contextlib.suppress(FileNotFoundError):
                os.stat(root / TREES["portable"])
            return
        try:
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            for tree in TREES.values():
                (root / tree).mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise _failed("create", root, error) from error

    def read(self, path: str) -> NoteFile | None:
        """The file as it is now; None if there is no such file."""
        try:
            self.refuse_links(path)
            descriptor = os.open(f"{self._root}/{path}", _READ)
        except FileNotFoundError:
            # A name that is not UTF-8 is stored with U+FFFD, and no file has the stored name.
            return _unreadable(path, "its name is not UTF-8; rename it") if "\ufffd" in path else None
        except (NotADirectoryError, StoreUnavailable):
            return None
        except OSError as error:
            return _unreadable(path, error.strerror)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return None
            with os.fdopen(descriptor, "rb", buffering=0, closefd=False) as file:
                data = file.readall() or b""
        except OSError as error:
            return _unreadable(path, error.strerror)
        finally:
            os.close(descriptor)
        seen = (path, status.st_size, status.st_mtime_ns, digest(data))
        text = ""
        try:
            text = decode(data)
            bare = self._bare_note(text, *seen) if not text.startswith("---") else None
            memory = bare or parse(text, scope=scope_of(path))
            validate(memory)
        except InvalidNote as error:
            return NoteFile(*seen, problem=str(error), line=error.line or _line_of(text, error.field))
        return NoteFile(*seen, memory, is_bare=bare is not None)

    def _bare_note(self, text: str, path: str, _: int, mtime_ns: int, hash: bytes) -> Memory | None:
        """The note of a file without front matter; None if that is missing or broken for another reason."""
        from anamnesis.notes.bare import bare_note, is_bare  # most files have front matter

        if describes_repository(path.partition("/")[2]) or not is_bare(text, path):
            return None
        note_id = self._kept.id_of(path, hash, mtime_ns, self.exists)
        return bare_note(text, path, note_id, file_time(mtime_ns), scope_of(path))

    def secure(self, paths: Sequence[str]) -> None:
        """Flush files and their folders to disk; files that no longer exist are skipped."""
        with telling("write", self.root):
            sync_files([self.absolute(path) for path in paths], missing_ok=True)
            for folder in dict.fromkeys(map(folder_of, paths)):
                sync_folder(self.absolute(folder))

    def discard(self, path: str, memory: Memory, moment: str) -> Step:
        """Move a file to the trash unchanged; the trash may hold several files of one id."""
        self.refuse_links(path)
        source = folder_of(path)
        before = self.folder_time(source)
        with telling("move to the trash", self.root / path):
            target = trash_place(self.root, TREES[memory.scope], memory, moment)
            try:
                move(self.root / path, target)
            except FileNotFoundError:
                raise NoteNotFound(f"The file {path} has gone.") from None
        return Step(source, before, self.folder_time(source))

    def remove(self, path: str) -> Step:
        """Remove a file for good, if it is there."""
        self.refuse_links(path)
        source = folder_of(path)
        before = self.folder_time(source)
        with telling("remove", self.root / path):
            (self.root / path).unlink(missing_ok=True)
            if before != -1:
                sync_folder(self.root / source)
        return Step(source, before, self.folder_time(source))

    def replace(self, path: str, data: bytes, seen: tuple[int, int] | None) -> tuple[int, int] | None:
        """Replace a file durably, and return its new size and mtime; None if it was no longer as `seen`."""
        target = self.absolute(path)
        with telling("write", target):
            descriptor, staged = create_beside(target, stage=self.prepare(STAGE))
            status = fill(descriptor, staged, data)
            is_replaced = replace_unchanged(staged, target, seen)
            sync_folder(self.absolute(folder_of(path)))
            is_replaced = is_replaced and stays_replaced(staged, target, seen)
            remove(staged)
        return (status.st_size, status.st_mtime_ns) if is_replaced else None

    def remove_unchanged(self, path: str, seen: tuple[int, int]) -> bool:
        """Remove a file for good if it is still as `seen`; returns whether it was removed."""
        aside = f"{self.prepare(STAGE)}/.{path.rpartition('/')[2]}.removed{TEMPORARY_SUFFIX}"
        with telling("remove", self.root / path):
            is_removed = remove_unchanged(self.absolute(path), aside, seen)
            remove(aside)
            sync_folder(self.absolute(folder_of(path)))
        return is_removed

    def move(self, path: str, target: str) -> None:
        """Move a file to another, free path of the trees."""
        self.refuse_links(path)
        with telling("move", self.root / path):
            move(self.root / path, Path(self.prepare(folder_of(target)), target.rpartition("/")[2]))

    def restore(self, trashed: Trashed) -> Step:
        """Move a file back from the trash unchanged."""
        target = Path(self.prepare(folder_of(trashed.home)), f"{trashed.id}.md")
        source = self.root / trashed.path
        if os.path.lexists(target):
            raise NoteConflict(f"The file {trashed.home} exists.", "Move it away, then restore.")
        folder = folder_of(trashed.home)
        before = self.folder_time(folder)
        with telling("restore", source):
            move(source, target)
        return Step(folder, before, self.folder_time(folder))

    def trashed(self) -> list[Trashed]:
        """The files in the trash, the last deleted first."""
        found = []
        for scope, tree in TREES.items():
            for kind in TYPES:
                folder = self.root / TRASH / tree / kind
                for path in folder.glob("*~*.md") if folder.is_dir() else ():
                    note_id, _, stamp = path.stem.rpartition("~")
                    found.append(Trashed(note_id, scope, path.relative_to(self.root).as_posix(), stamp))
        return sorted(found, key=lambda trashed: (trashed.deleted_at, trashed.id), reverse=True)

    def absolute(self, path: str) -> str:
        return f"{self._root}/{path}"

    def exists(self, path: str) -> bool:
        return os.path.lexists(f"{self._root}/{path}")

    def seen(self, path: str) -> tuple[int, int] | None:
        """Size and mtime of a file; None if there is none."""
        return size_and_mtime(f"{self._root}/{path}")

    def folder_time(self, folder: str) -> int:
        """The mtime of a folder, which changes with new, removed and renamed files; -1 if it is not a folder."""
        try:
            status = os.stat(f"{self._root}/{folder}", follow_symlinks=folder in TREES.values())
        except OSError:
            return -1
        return status.st_mtime_ns if stat.S_ISDIR(status.st_mode) else -1

    def touch_folder(self, folder: str) -> None:
        """Update a folder's mtime, so that the next refresh lists it."""
        with contextlib.suppress(OSError):
            os.utime(self.root / folder)

    def list_folder(self, folder: str) -> Folder | None:
        """The current content of one folder; None if it does not exist."""
        mtime_ns = self.folder_time(folder)
        if mtime_ns == -1:
            return None
        if 0 <= time.time_ns() - mtime_ns < _CLOCK_TICK_NS:
            time.sleep(_CLOCK_TICK_NS / 1e9)
        listed = Folder(folder, mtime_ns, {}, [])
        try:
            with os.scandir(self.root / folder) as entries:
                for entry in entries:
                    if entry.name.startswith(".") or entry.is_symlink():
                        continue
                    if entry.is_dir():
                        listed.folders.append(f"{folder}/{_storable(entry.name)}")
                    elif entry.name.endswith(".md") and entry.is_file():
                        with contextlib.suppress(FileNotFoundError):  # removed since it was listed
                            status = entry.stat(follow_symlinks=False)
                            name = _storable(entry.name)
                            known = name == entry.name
                            listed.files[name] = (status.st_size, status.st_mtime_ns) if known else _UNREADABLE
        except FileNotFoundError:
            return None
        except OSError as error:
            if folder in TREES.values():
                raise _failed("list", self.root / folder, error) from error
            return Folder(folder, 0, {}, [], is_listed=False)
        return listed

    def prepare(self, folder: str) -> str:
        """Create a folder to write to, if it is missing; returns its absolute path."""
        place = f"{self._root}/{folder}"
        try:
            if not os.path.isdir(place):
                os.makedirs(place, mode=0o700, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            self.refuse_links(f"{folder}/")
            reason = f"Cannot create {place}: a file is in its place."
            raise StoreUnavailable(reason, "`anamnesis doctor --fix` moves it to the trash.") from error
        except OSError as error:
            raise _failed("create", place, error) from error
        self.refuse_links(f"{folder}/")
        return place

    def refuse_links(self, path: str) -> None:
        """Raise if a folder between the tree and the file is a link. (The user may make the tree itself one.)"""
        tree, *folders, _ = path.split("/")
        place = f"{self._root}/{tree}"
        for name in folders:
            place = f"{place}/{name}"
            if os.path.islink(place):
                raise StoreUnavailable(
                    f"{place} is a symbolic link, and notes are not read or written through one.",
                    "Replace it by a folder; `anamnesis doctor` says more.",
                )


def trash_place(root: Path, tree: str, memory: Memory, moment: str) -> Path:
    """A free path in the trash for a note of a tree; creates its folder."""
    (root / TRASH).mkdir(mode=0o700, exist_ok=True)
    return free_place(root / TRASH / tree / memory.type, memory.id, moment, ".md")


def free_place(folder: Path, name: str, moment: str, suffix: str = "") -> Path:
    """A free path in a folder of the trash, which is created if it is missing."""
    stamp = "".join(character for character in moment if character.isalnum())[:15]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    serial = 0
    while os.path.lexists(target := folder / f"{name}~{stamp}-{serial:04d}{suffix}"):
        serial += 1
    return target


def folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


def _unreadable(path: str, reason: str | None) -> NoteFile:
    """A file that exists but cannot be read; its impossible size makes every refresh try again."""
    return NoteFile(path, *_UNREADABLE, b"unreadable", problem=f"The file cannot be read: {reason}.")


def _line_of(text: str, field: str) -> int:
    """The line of a front-matter key; 0 if there is none."""
    key = re.search(rf"^[ {{]*{field}\s*:", text, re.MULTILINE) if field else None
    return text.count("\n", 0, key.start()) + 1 if key else 0


def _storable(name: str) -> str:
    """A file name as text; bytes that are not UTF-8 become U+FFFD, and no file has that name."""
    return name if name.isascii() else writable(name)


@contextlib.contextmanager
def telling(action: str, path: Path | str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _failed(action, path, error) from error


def _failed(action: str, path: Path | str, error: OSError) -> StoreUnavailable:
    return StoreUnavailable(f"Cannot {action} {path}: {error.strerror or error}.")
