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
# RENAME_EXCHANGE of Linux and RENAME_SWAP of macOS, and the errors of systems and file systems without it.
_SWAP = 2
_AT_FDCWD = -100
_NO_EXCHANGE = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EXDEV, errno.EPERM}
# Seconds to wait for a program that has a replaced file open to close it.
_WRITER_SECONDS = 0.5


def write_atomically(path: Path, data: bytes, *, mode: int | None = None, durable: bool = True) -> None:
    """Replace `path` by `data` atomically: a reader or a crash sees the old file or the new one.

    `durable=False` skips the fsync, so a crash of the system may lose the file.
    """
    descriptor, temporary = create_beside(path, mode)
    fill(descriptor, temporary, data, durable=durable)
    put_in_place(temporary, path)
    if durable:
        sync_folder(path.parent)


def create_beside(path: Path | str, mode: int | None = None, *, stage: str = "") -> tuple[int, str]:
    """A new open temporary file beside `path` or in the folder `stage`, with `mode`, or that of `path`, or 0600."""
    folder, name = os.path.split(path)  # five times as fast as `with_name`
    temporary = os.path.join(stage or folder, f".{name}.{os.getpid()}-{next(_serial)}{TEMPORARY_SUFFIX}")
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
    rename(source, target)
    sync_folder(target.parent)
    sync_folder(source.parent)


def rename(source: Path | str, target: Path | str) -> None:
    """Rename a file atomically; to another file system it is copied, with its times."""
    try:
        os.replace(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        status = os.stat(source)
        write_atomically(Path(target), Path(source).read_bytes(), mode=status.st_mode & 0o777)
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
        os.unlink(source)


def size_and_mtime(path: Path | str) -> tuple[int, int] | None:
    """The size and mtime of a file, by which a change is detected; None if there is no file."""
    try:
        status = os.stat(path, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_size, status.st_mtime_ns


def replace_unchanged(staged: str, target: str, seen: tuple[int, int] | None) -> bool:
    """Rename `staged` to `target` if that still has the size and mtime `seen` (None for no file); returns whether.

    The two files are exchanged, so that no concurrent save is lost: the replaced file is in `staged` afterwards, for
    the caller to remove. Whether a program still writes to it is checked at once, before that program can edit the new
    file too; where the system cannot say that a file is open, call `stays_replaced` again later. On a file system
    without an exchange, a change between the check and the rename is overwritten.
    """
    if size_and_mtime(target) != seen:
        return False
    if seen is None:
        rename(staged, target)
        return True
    try:
        exchange(staged, target)
    except FileNotFoundError:
        return False
    except OSError as error:
        if error.errno not in _NO_EXCHANGE:
            raise
        rename(staged, target)
        return True
    if size_and_mtime(staged) == seen:
        return stays_replaced(staged, target, seen)
    _put_back(staged, target)
    return False


def stays_replaced(staged: str, target: str, seen: tuple[int, int] | None) -> bool:
    """Whether the replaced file, now `staged`, is unchanged and not open for writing; otherwise it is put back.

    If `seen` is None, no file was replaced. A program that has the file open keeps writing to it under any name, so it
    gets some time to close it.
    """
    if seen is None:
        return True
    is_open = _is_open_to_write(staged)
    deadline = time.monotonic() + _WRITER_SECONDS
    while is_open and time.monotonic() < deadline:
        time.sleep(0.001)
        is_open = _is_open_to_write(staged)
    if not is_open and size_and_mtime(staged) in (None, seen):
        return True
    _put_back(staged, target)
    return False


def _put_back(staged: str, target: str) -> None:
    """Undo an exchange; if another program has replaced `target` since, its file stays."""
    ours = os.stat(target).st_ino
    exchange(staged, target)
    if os.stat(staged).st_ino != ours:
        exchange(staged, target)


def _is_open_to_write(path: str) -> bool:
    """Whether a program has a file open for writing. Only Linux can tell: it grants a read lease if none has."""
    if sys.platform != "linux":
        return False
    from fcntl import F_RDLCK, F_SETLEASE, F_SETSIG, fcntl  # only for notes that change
    from signal import SIGURG

    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl(descriptor, F_SETSIG, SIGURG)  # instead of SIGIO, which would end this process
        fcntl(descriptor, F_SETLEASE, F_RDLCK)
    except OSError as error:  # other errors: the file system has no leases, or the file is another user's
        return error.errno == errno.EAGAIN
    finally:
        os.close(descriptor)
    return False


def remove_unchanged(target: str, aside: str, seen: tuple[int, int]) -> bool:
    """Move `target` to the unused name `aside` if it still has the size and mtime `seen`; returns whether."""
    if size_and_mtime(target) != seen:
        return False
    rename(target, aside)
    if size_and_mtime(aside) == seen and not _is_open_to_write(aside):
        return True
    with contextlib.suppress(FileExistsError):  # another program has saved the file again
        os.link(aside, target)
    return False


def exchange(one: str, other: str) -> None:
    """Exchange the names of two files atomically."""
    import ctypes  # only for notes that change

    library = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(one), os.fsencode(other)
    if sys.platform == "linux" and hasattr(library, "renameat2"):
        failed = library.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _SWAP)
    elif sys.platform == "darwin":
        failed = library.renamex_np(*names, _SWAP)
    else:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if failed:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), one, None, other)


FileIdentity = tuple[int, int, int]


def file_identity(path: Path | str) -> FileIdentity | None:
    """The identity of the file with this name, and the process, because a connection must not be used after a fork."""
    try:
        status = os.stat(path)  # with a string, twice as fast as `Path.stat`
    except FileNotFoundError:
        return None
    return os.getpid(), status.st_dev, status.st_ino


def sync_files(paths: Sequence[Path | str], *, missing_ok: bool = False) -> None:
    """Sync the contents of written files; very many by one sync of the whole system."""
    if len(paths) > _MANY_FILES and hasattr(os, "sync"):
        os.sync()
        return
    descriptors: list[int] = []
    try:
        for path in paths:
            try:
                descriptors.append(os.open(path, _SYNC))
            except FileNotFoundError:
                if missing_ok:
                    continue
                raise
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
        while not try_lock(descriptor):
            if time.monotonic() > deadline:
                raise LockHeld(
                    f"Another process has held {path} for {timeout:.0f} s.",
                    "Wait for it or stop it, then try again.",
                )
            time.sleep(pause)
            pause = min(pause * 2, 0.01)  # a busy daemon releases the lock for a few milliseconds only
        yield
    finally:
        os.close(descriptor)


if sys.platform == "win32":
    import msvcrt

    def try_lock(descriptor: int, *, shared: bool = False) -> bool:
        """Lock an open file, or fail at once. There are no shared locks on Windows."""
        try:
            if not shared:
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def try_lock(descriptor: int, *, shared: bool = False) -> bool:
        """Lock an open file, exclusively or shared; or fail at once."""
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
