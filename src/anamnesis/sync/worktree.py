"""Writes the files that a sync changes, unless another program has changed them since they were read."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePosixPath

from anamnesis.disk import (
    create_beside,
    fill,
    locked,
    move,
    replace_unchanged,
    size_and_mtime,
    sync_files,
    sync_folder,
)
from anamnesis.errors import LockHeld, StoreUnavailable
from anamnesis.store.files import STAGE, trash_place
from anamnesis.store.steps import Step, Steps
from anamnesis.sync.integrate import File
from anamnesis.sync.tree import is_safe

_READ = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
_STAGE = Path(".git", "anamnesis-new")
# In git's folder; held by a sync.
LOCK = "anamnesis.lock"
# In the home; held by an exchange with a hub, which stages its files there too.
EXCHANGE_LOCK = "exchange.lock"
EXCHANGE_STAGE = Path(STAGE, "exchange")


@dataclass(frozen=True, slots=True)
class Replacement:
    """The expected and the new content of a file; None for a file that does not exist."""

    path: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class Replaced:
    """The files that had another content and were `left`, and the `steps` that changed the folders."""

    left: list[str]
    steps: list[Step]


def replace_files(folder: Path, replacements: Iterable[Replacement], stage: Path = _STAGE) -> Replaced:
    """Replace files that have the expected content, and leave the others. New contents are written to `stage` first."""
    stage = folder / stage
    wanted = [each for each in replacements if is_safe(each.path)]
    kept = {File(each.path, each.after).note_id for each in wanted if each.after}
    steps = Steps(partial(_time_of, folder.parent))
    try:
        staged = _stage(folder, wanted, stage)
        with locked(folder.parent / "store.lock"):
            left = []
            for each in _in_order(folder, wanted):
                with steps.change(f"{folder.name}/{each.path}".rpartition("/")[0]):
                    if not _replace(folder, each, staged.get(each.path), kept):
                        left.append(each.path)
        for parent in {(folder / each.path).parent for each in wanted}:
            if parent.is_dir():
                sync_folder(parent)
        return Replaced(left, steps.undisturbed())
    except OSError as error:
        raise StoreUnavailable(f"Cannot write {error.filename or folder}: {error.strerror}.") from error
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _time_of(root: Path, folder: str) -> int:
    try:
        return os.stat(root / folder).st_mtime_ns
    except OSError:
        return -1


def forget_staged(folder: Path) -> None:
    """Remove the staged contents of a killed sync; a running one removes its own."""
    for stage, lock in zip((folder / _STAGE, folder.parent / EXCHANGE_STAGE), _locks(folder), strict=True):
        if stage.exists():
            with contextlib.suppress(LockHeld), locked(lock, timeout=0.0):
                shutil.rmtree(stage, ignore_errors=True)


@contextlib.contextmanager
def without_sync(folder: Path, patience: float = 0.0) -> Iterator[None]:
    """Block syncs of this folder; raises if one runs for longer than `patience` seconds."""
    with contextlib.ExitStack() as held:
        for lock in _locks(folder):
            if lock.parent.is_dir() and (lock.parent != folder.parent or lock.exists()):
                try:
                    held.enter_context(locked(lock, timeout=patience))
                except LockHeld as error:
                    raise LockHeld("A sync of the notes is running.", "Wait until it has ended.") from error
        yield


def _locks(folder: Path) -> tuple[Path, Path]:
    """The lock of git's sync, and that of the exchange with a hub."""
    return folder / ".git" / LOCK, folder.parent / EXCHANGE_LOCK


def _stage(folder: Path, wanted: Iterable[Replacement], stage: Path) -> dict[str, str]:
    """Write the new contents outside of the notes' folders, where a killed sync leaves nothing; the files by path."""
    shutil.rmtree(stage, ignore_errors=True)
    stage.mkdir(mode=0o700, parents=True)
    staged = {}
    for number, each in enumerate(wanted):
        if each.after is not None:
            target = folder / each.path
            mode = target.stat().st_mode & 0o777 if target.is_file() else 0o600
            descriptor, staged[each.path] = create_beside(stage / str(number), mode)
            fill(descriptor, staged[each.path], each.after, durable=False)
    sync_files([*staged.values()])
    return staged


def _in_order(folder: Path, wanted: Sequence[Replacement]) -> list[Replacement]:
    """Write before removing, so that a moved note always has a file; but remove a file first where a folder replaces
    it, and write a file last where it replaces a folder."""
    folders = {str(parent) for each in wanted if each.after is not None for parent in PurePosixPath(each.path).parents}

    def order(each: Replacement) -> int:
        if each.after is None:
            return 2 if each.path not in folders else 0
        return 1 if not (folder / each.path).is_dir() else 3

    return sorted(wanted, key=order)


def _replace(folder: Path, wanted: Replacement, staged: str | None, kept: Collection[str]) -> bool:
    """Replace one file; returns whether it has the new content."""
    target = folder / wanted.path
    if target.parent.resolve() != (folder.resolve() / wanted.path).parent:
        return True  # a parent folder is a link: nothing is written through it
    if target.is_dir() and not target.is_symlink():
        _remove_empty_folders(target)
    seen = size_and_mtime(target)
    found = read_bytes(target)
    if found == wanted.after:
        return True
    if found != wanted.before:
        return False
    if staged:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return replace_unchanged(staged, str(target), seen)
    _remove(folder, wanted, kept)
    return True


def _remove_empty_folders(folder: Path) -> None:
    """Remove a folder that holds only empty folders; raises OSError for any other."""
    for place, _, _ in os.walk(folder, topdown=False):
        os.rmdir(place)


def _remove(folder: Path, gone: Replacement, kept: Collection[str]) -> None:
    """Move a note that was deleted elsewhere to the trash: it can be restored, and no import writes it again."""
    target = folder / gone.path
    note = File(gone.path, gone.before or b"").memory
    if note and note.id not in kept:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        move(target, trash_place(folder.parent, folder.name, note, now))
    else:
        target.unlink()


def read_bytes(path: Path) -> bytes | None:
    """The content of a file, or the target of a link as git stores it; None if it does not exist."""
    try:
        if path.is_symlink():
            return os.fsencode(os.readlink(path))
        descriptor = os.open(path, _READ)
    except (FileNotFoundError, NotADirectoryError):
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read()
