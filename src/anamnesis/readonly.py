"""SQLite databases on a disk that cannot be written: detecting it, and reading them anyway. Knows no table."""

from __future__ import annotations

import errno
import os
import sqlite3
from pathlib import Path

_READONLY, _IO_ERROR, _FULL, _CANNOT_OPEN = 8, 10, 13, 14
# SQLITE_IOERR_SHORT_READ, the only I/O error that is damage: a file is shorter than it should be.
SHORT_READ = 522
_NO_WRITE = {
    getattr(errno, name)
    for name in ("EROFS", "EACCES", "EPERM", "ENOSPC", "EDQUOT", "EFBIG", "ENOENT")
    if hasattr(errno, name)
}


def is_writable(folder: Path) -> bool:
    """Whether files can be created in a folder. A quota or a limit shows only in an attempt."""
    if not os.access(folder, os.W_OK | os.X_OK):
        return False
    if not hasattr(os, "statvfs"):
        return True
    disk = os.statvfs(folder)
    return disk.f_bavail > 0 or disk.f_blocks == 0  # some network disks do not report their size


def is_refused(error: sqlite3.Error | OSError) -> bool:
    """Whether a database could not be used because its disk could not be written."""
    if isinstance(error, OSError):
        return error.errno in _NO_WRITE
    code = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF in (_READONLY, _IO_ERROR, _FULL, _CANNOT_OPEN) and code != SHORT_READ


def read_only_uri(path: Path) -> str:
    """The URI for `sqlite3.connect` by which SQLite reads a database and writes nothing.

    Without a WAL file, the database is opened as immutable, because SQLite would otherwise create that file. With one,
    another process may be writing, and SQLite needs the shared-memory file; if that is missing, it fails.
    """
    try:
        has_log = os.stat(f"{path}-wal").st_size > 0
    except OSError:
        has_log = False
    return f"{path.absolute().as_uri()}?mode=ro&{'readonly_shm=1' if has_log else 'immutable=1'}"
