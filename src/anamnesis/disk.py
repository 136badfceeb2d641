"""Crash-safe files, and a lock between processes. Knows nothing of notes."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from anamnesis.errors import LockHeld, Unwritable

_serial = itertools.count()
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_SYNC = os.O_RDWR if sys.platform == "win32" else os.O_RDONLY  # also works for a read-only file
TEMPORARY_SUFFIX = ".tmp"
_MANY_FILES = 200


def write_atomically(path: Path, data: bytes, *, mode: int | None = None, durable: bool = True) -> None:
    """Replace `path` by `data` atomically: a reader or a crash sees the old file or the new one.

    `durable=False` skips the fsync, so a crash of the system may lose the file.
    """
    descriptor, temporary = create_beside(path, mode)
    fill(descriptor, temporary, data, durable=durable)
    put_in_place(temporary, path)
    if durable:
        sync_folder(path.parent)


def create_beside(path: Path | str, mode: int | None = None) -> tuple[int, str]:
    """A new open temporary file beside `path`, with `mode`, else the mode of `path`, else 0600."""
    folder, name = os.path.split(path)  # five times as fast as `with_name`
    temporary = os.path.join(folder, f".{name}.{os.getpid()}-{next(_serial)}{TEMPORARY_SUFFIX}")
    if mode is None:
        try:
            mode = os.stat(path, follow_symlinks=False).st_mode & 0o777
        except OSError:
            mode = 0o600
    return os.open(temporary, _CREATE, mode), temporary


def fill(descriptor: int, temporary: str, data: bytes, *, durable: bool = True, begin: bool = False) -> os.stat_result:
    """Write `data` to a new file and close it; if that fails, the file is removed.

    Syncs it if `durable`; else `sync_files` does it later, and `begin` starts the write-out now.
    """
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        if durable:
            os.fsync(descriptor)
        elif begin:
            _begin_sync(descriptor)
        return os.fstat(descriptor)
    except BaseException:
        remove(temporary)
        raise
    finally:
        os.close(descriptor)


def remove(path: str) -> None:
    """Remove a file, if it is there."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def put_in_place(temporary: str, path: Path) -> None:
    """Rename a finished temporary file to `path`."""
    try:
        os.replace(temporary, path)
    except OSError:
        remove(temporary)
        raise


def move(source: Path, target: Path) -> None:
    """A durable move, also across file systems."""
    try:
        os.replace(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        status = source.stat()
        write_atomically(target, source.read_bytes(), mode=status.st_mode & 0o777)
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
        source.unlink()
    sync_folder(target.parent)
    sync_folder(source.parent)


FileIdentity = tuple[int, int, int]


def file_identity(path: Path | str) -> FileIdentity | None:
    """Which file has this name now, and for which process: a database connection must not cross a fork."""
    try:
        status = os.stat(path)  # with a string, twice as fast as `Path.stat`
    except FileNotFoundError:
        return None
    return os.getpid(), status.st_dev, status.st_ino


def sync_files(paths: Sequence[Path | str]) -> None:
    """Sync the contents of written files; very many by one sync of the whole system."""
    if len(paths) > _MANY_FILES and hasattr(os, "sync"):
        os.sync()
        return
    descriptors: list[int] = []
    try:
        for path in paths:
            descriptors.append(os.open(path, _SYNC))
            if len(paths) > 1:
                _begin_sync(descriptors[-1])  # starts all writes before waiting for any: half the time
        for descriptor in descriptors:
            os.fsync(descriptor)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _begin_sync(descriptor: int) -> None:
    """Start writing a file to disk without waiting, if the system supports it."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def sync_folder(folder: Path | str) -> None:
    """Sync the names in a folder (Windows does it by itself)."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def locked(path: Path | str, timeout: float = 60.0) -> Iterator[None]:
    """Hold the lock file `path` exclusively among threads and processes; a dead process releases it."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise Unwritable(f"Cannot write {path}: {error.strerror}.") from error
    try:
        deadline = time.monotonic() + timeout
        pause = 0.001
        while not _try_lock(descriptor):
            if time.monotonic() > deadline:
                raise LockHeld(
                    f"Another process has held {path} for {timeout:.0f} s.",
                    "Wait for it or stop it, then try again.",
                )
            time.sleep(pause)
            pause = min(pause * 2, 0.01)  # a busy daemon leaves the lock for a few milliseconds only
        yield
    finally:
        os.close(descriptor)


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
