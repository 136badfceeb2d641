"""Reads files of a working tree. A clone may be hostile: no link is followed, no pipe blocks, and reads are limited."""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePosixPath

from anamnesis.errors import AnamnesisError

_FOLDER = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_PATH", "O_DIRECTORY", "O_CLOEXEC"))
# O_NONBLOCK: a named pipe must not block its reader.
_FILE = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_JUNCTION = 0xA0000003  # a Windows link between folders, which Python 3.11 does not report as a link


class RefusedPath(AnamnesisError):
    """A file of a working tree that is not read, or a folder that is not written to."""


def read_file(tree: Path, file: str, most: int) -> bytes | None:
    """The content of a regular file below `tree`; None if missing. Refuses links and more than `most` bytes."""
    names = PurePosixPath(file).parts
    if ".." in names:
        raise RefusedPath(f"{tree / file} is not in {tree}.")
    try:
        descriptor = _opened(tree, names)
    except FileNotFoundError:
        return None
    except OSError as error:
        _refuse_links(tree, file)
        if isinstance(error, NotADirectoryError):
            return None
        raise RefusedPath(f"{tree / file} cannot be read: {error.strerror}.") from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise RefusedPath(f"{tree / file} is not a regular file.")
        with os.fdopen(descriptor, "rb", closefd=False) as opened:
            data = opened.read(most + 1)
    except OSError as error:
        raise RefusedPath(f"{tree / file} cannot be read: {error.strerror}.") from None
    finally:
        os.close(descriptor)
    if len(data) > most:
        raise RefusedPath(f"{tree / file} has more than {most:,} bytes.")
    return data


def make_folder(tree: Path, folder: str) -> Path:
    """A folder below `tree` to write to, created if missing. Refuses links, which may lead out of the tree."""
    _refuse_links(tree, folder)
    (tree / folder).mkdir(parents=True, exist_ok=True)
    return tree / folder


def _opened(tree: Path, names: tuple[str, ...]) -> int:
    """A descriptor of the file; each folder of the path is opened inside the one before."""
    if os.open not in os.supports_dir_fd:  # Windows
        _refuse_links(tree, "/".join(names))
        return os.open(tree.joinpath(*names), _FILE)
    place = os.open(tree, _FOLDER)
    try:
        for name in names[:-1]:
            inner = os.open(name, _FOLDER | _NO_FOLLOW, dir_fd=place)
            os.close(place)
            place = inner
        return os.open(names[-1], _FILE, dir_fd=place)
    finally:
        os.close(place)


def _refuse_links(tree: Path, file: str) -> None:
    place = tree
    for name in PurePosixPath(file).parts:
        place /= name
        if os.path.islink(place) or _is_junction(place):
            raise RefusedPath(f"{place} is a symbolic link, and links in a working tree are not followed.")


def _is_junction(place: Path) -> bool:
    try:
        return getattr(os.lstat(place), "st_reparse_tag", 0) == _JUNCTION
    except OSError:
        return False
