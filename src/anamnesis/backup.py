"""Backups: one file with everything of a home that is not derived, verified before it replaces an earlier one.

Databases are copied by SQLite's online backup, and notes under the lock of their writers, so that other programs may
keep working.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import stat
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from anamnesis.config import take_machine_id
from anamnesis.disk import locked, sync_files, sync_folder
from anamnesis.errors import InvalidArgument, Unwritable
from anamnesis.readonly import read_only_uri

_MANIFEST = "anamnesis-backup.json"
_VERSION = 1
_HOME, _ENGRAM = "home", "engram/engram.db"
# In the order in which a sync acquires them.
_LOCKS = ("memory/.git/anamnesis.lock", "exchange.lock", "store.lock")
# Files that are derived from the notes, that belong to running processes, or that are no part of a memory.
_DERIVED = ("index.db", "vectors.db", "sketches.db", "staged", "daemon.json", "bin", "sync.begun")
_EXCLUDED_SUFFIXES = (".lock", ".tmp", "-wal", "-shm", "-journal")
# The ledger of the agents' changed files, the launcher that they start, and the record of the daemon's service.
_OF_A_MACHINE = ("backups", "bin", "service.json")
# Folders that a person may store elsewhere, with a link in their place.
_TREES = ("memory", "local", "trash")
_SQLITE = b"SQLite format 3\0"
_CHUNK = 1 << 20
_PATIENCE = 60.0
_CORRUPT = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_DATABASE, _DAMAGED = "database", "damaged database"


class BackupSummary(NamedTuple):
    """The content of a backup, and the damaged databases, which are saved as they are."""

    files: int
    databases: int
    bytes: int
    damaged: list[str]


class _ArchivedFile(NamedTuple):
    """A file of a backup: its name in the archive, its hash, its mtime, and whether it is a file or a database."""

    name: str
    sha256: str
    mtime_ns: int
    kind: str = "file"


def back_up(home: Path, engram: Path | None, target: Path) -> BackupSummary:
    """Write everything into one file, which replaces an earlier one only when it is complete and verified."""
    if not home.is_dir():
        raise InvalidArgument(f"There is no memory at {home}.")
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with _created(temporary) as archive, ExitStack() as held:
            for lock in () if _is_closed(home) else _LOCKS:
                if (home / lock).parent.is_dir():
                    held.enter_context(locked(home / lock, _PATIENCE))
            copies = held.enter_context(tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}."))
            files = [_add(archive, path, name, Path(copies)) for path, name in _files(home, engram, target)]
            manifest = {"version": _VERSION, "files": [each._asdict() for each in files], "folders": _folders(home)}
            archive.writestr(_MANIFEST, json.dumps(manifest, indent=1))
        _verified(temporary)
        sync_files([temporary])
        os.replace(temporary, target)
        sync_folder(target.parent)
    finally:
        temporary.unlink(missing_ok=True)
    return _saved(files, target)


def _saved(files: list[_ArchivedFile], file: Path) -> BackupSummary:
    kinds = Counter(each.kind for each in files)
    damaged = [each.name for each in files if each.kind == _DAMAGED]
    return BackupSummary(kinds["file"], kinds[_DATABASE] + kinds[_DAMAGED], file.stat().st_size, damaged)


@contextmanager
def _created(path: Path) -> Iterator[zipfile.ZipFile]:
    file = open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), "w+b")  # noqa: SIM115
    with file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
        yield archive


def _files(home: Path, engram: Path | None, target: Path) -> Iterator[tuple[Path, str]]:
    """The files to save, and their names in the backup. Links are followed only directly in the home."""
    for place, folders, names in os.walk(home, followlinks=True):
        relative = Path(place).relative_to(home)
        is_root = relative == Path()
        folders[:] = sorted(
            name
            for name in folders
            if not (is_root and name in _DERIVED)
            and not (relative.parts[-1:] == (".git",) and name == "hooks")
            and (not Path(place, name).is_symlink() or (is_root and name in _TREES))
        )
        for name in sorted(names):
            path = Path(place, name)
            is_link = path.is_symlink() and not is_root
            left_out = (is_root and name in _DERIVED) or name.endswith(_EXCLUDED_SUFFIXES) or is_link
            if not left_out and path.is_file() and path.resolve() != target.resolve():
                yield path, f"{_HOME}/{(relative / name).as_posix()}"
    if engram and engram.is_file() and not engram.resolve().is_relative_to(home.resolve()):
        yield engram, _ENGRAM


def _folders(home: Path) -> list[str]:
    """The folders of the git repository, which it needs even where they are empty."""
    git = home / "memory" / ".git"
    found = [git / name for name in ("objects", "refs", "refs/heads", "refs/tags")]
    return [f"{_HOME}/{path.relative_to(home).as_posix()}" for path in found if path.is_dir()]


def _add(archive: zipfile.ZipFile, path: Path, name: str, copies: Path) -> _ArchivedFile:
    """Add a file to the backup; of a database, a copy of its committed state."""
    mtime_ns, kind, source = path.stat().st_mtime_ns, "file", path
    with path.open("rb") as file:
        if file.read(len(_SQLITE)) == _SQLITE:
            source = copies / "copy.db"
            kind = _DATABASE if _is_copied(path, source) else _DAMAGED
            source = source if kind == _DATABASE else path
    digest = hashlib.sha256()
    with source.open("rb") as file, archive.open(name, "w", force_zip64=True) as member:
        while data := file.read(_CHUNK):
            digest.update(data)
            member.write(data)
    return _ArchivedFile(name, digest.hexdigest(), mtime_ns, kind)


def _is_closed(folder: Path) -> bool:
    """Whether a folder is read-only: nobody writes there, and a backup does not either, not even a lock."""
    return not os.access(folder, os.W_OK) or not folder.stat().st_mode & stat.S_IWUSR


def _is_copied(path: Path, target: Path) -> bool:
    """Copy a database; False if it is damaged."""
    target.unlink(missing_ok=True)
    uri = read_only_uri(path) if _is_closed(path.parent) else path.absolute().as_uri()
    try:
        with (
            closing(sqlite3.connect(uri, uri=True, timeout=_PATIENCE)) as source,
            closing(sqlite3.connect(target)) as copy,
        ):
            source.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
            return bool(copy.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF in _CORRUPT:
            return False
        # A full disk or a lock does not mean damage, and the file alone lacks what is committed in the WAL.
        raise Unwritable(f"{path} cannot be copied to {target.parent.parent}: {error}.") from error


def restore(
    file: Path, home: Path, engram: Path, stamp: str, *, replace: bool = False
) -> tuple[BackupSummary, list[Path]]:
    """Restore a home from a backup. With `replace`, an existing memory is renamed; returns the new paths of that."""
    files, folders = _verified(file)
    there = [home] if home.is_dir() and any(home.iterdir()) else []
    has_engram = any(each.name == _ENGRAM for each in files)
    there += [engram] if has_engram and engram.exists() and not engram.is_relative_to(home) else []
    if there and not replace:
        raise InvalidArgument(f"There is a memory at {there[0]}.", "--replace moves it aside, and restores the backup.")
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent, prefix=f".{home.name}.") as folder:
        _unpack(file, [each for each in files if not _is_of_a_machine(each.name)], Path(folder))
        _keep_of_this_machine(home, Path(folder, _HOME))
        for each in folders:
            Path(folder, each).mkdir(mode=0o700, parents=True, exist_ok=True)
        is_inside = engram.is_relative_to(home)
        beside = Path(folder, _HOME, engram.relative_to(home)) if is_inside else engram.with_name(f".{engram.name}.tmp")
        try:
            if has_engram:  # before anything is renamed, because its disk may be full
                beside.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                shutil.move(Path(folder, _ENGRAM), beside)
            aside = [_move_aside(path, stamp) for path in there]
            try:
                if has_engram and not is_inside:
                    os.replace(beside, engram)
                if home.is_dir():
                    home.rmdir()
                os.rename(Path(folder, _HOME), home)
            except OSError:
                for before, path in zip(aside, there, strict=True):
                    os.rename(before, path)
                raise
        finally:
            beside.unlink(missing_ok=True)
    sync_folder(home.parent)
    return _saved(files, file), aside


def _unpack(file: Path, files: list[_ArchivedFile], folder: Path) -> None:
    (folder / _HOME).mkdir(mode=0o700)
    with zipfile.ZipFile(file) as archive:
        for each in files:
            target = folder / each.name
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with archive.open(each.name) as member, open(os.open(target, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as out:
                shutil.copyfileobj(member, out, _CHUNK)
            os.utime(target, ns=(each.mtime_ns, each.mtime_ns))


def _is_of_a_machine(name: str) -> bool:
    return PurePosixPath(name).parts[1] in _OF_A_MACHINE


def _keep_of_this_machine(home: Path, restored: Path) -> None:
    """Keep what belongs to the machine of an existing home, and its name, instead of what was saved."""
    for name in _OF_A_MACHINE:
        if (home / name).is_dir():
            shutil.copytree(home / name, restored / name)
        elif (home / name).is_file():
            shutil.copy2(home / name, restored / name)
    take_machine_id(home, restored)


def _move_aside(path: Path, stamp: str) -> Path:
    aside = path.with_name(f"{path.name}.before-{stamp}")
    for suffix in ("-wal", "-shm"):
        if (log := path.with_name(path.name + suffix)).exists():
            os.rename(log, aside.with_name(aside.name + suffix))
    os.rename(path, aside)
    return aside


def _verified(file: Path) -> tuple[list[_ArchivedFile], list[str]]:
    """The files and folders of a backup, after checking that every file is there with its hash, and no other."""
    try:
        with zipfile.ZipFile(file) as archive:
            manifest = json.loads(archive.read(_MANIFEST))
            files = [_held(value) for value in manifest["files"]]
            folders = [_inside(str(name)) for name in manifest["folders"]]
            if sorted(archive.namelist()) != sorted([_MANIFEST, *(each.name for each in files)]):
                raise InvalidArgument(f"{file} was changed: files are missing or were added.")
            for each in files:
                if _digest(archive, each.name) != each.sha256:
                    raise InvalidArgument(f"{file} is damaged: {each.name} is not what was saved.")
    except FileNotFoundError as error:
        raise InvalidArgument(f"There is no file {file}.") from error
    except (OSError, zipfile.BadZipFile, ValueError, KeyError, TypeError, EOFError, RuntimeError) as error:
        if isinstance(error, InvalidArgument):
            raise
        raise InvalidArgument(f"{file} is not a readable backup: {error}.") from error
    return files, folders


def _held(value: dict[str, Any]) -> _ArchivedFile:
    name = str(value["name"])
    kind = str(value["kind"])
    return _ArchivedFile(name if name == _ENGRAM else _inside(name), str(value["sha256"]), int(value["mtime_ns"]), kind)


def _inside(name: str) -> str:
    """The name of a file or folder of a home; raises if it leads out of the home."""
    parts = PurePosixPath(name).parts
    is_inside = parts[:1] == (_HOME,) and len(parts) > 1 and ".." not in parts
    if not is_inside or "/".join(parts) != name or "\\" in name or "\0" in name:
        raise ValueError(f"{name!r} is not a path in a home")
    return name


def _digest(archive: zipfile.ZipFile, name: str) -> str:
    digest = hashlib.sha256()
    with archive.open(name) as member:
        while data := member.read(_CHUNK):
            digest.update(data)
    return digest.hexdigest()
