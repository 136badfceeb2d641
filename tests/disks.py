"""Runs a command with a folder on a disk that cannot be written, also as root."""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

# Mounts are visible to the command alone, and end with it.
_ALONE = ("unshare", "--user", "--map-root-user", "--mount")
_READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1"'
# A copy of the folder on a separate disk that is filled to the last block.
_FULL = (
    'mkdir -p "$1.full" && mount -t tmpfs -o size=16m none "$1.full" && cp -a "$1/." "$1.full"'
    ' && mount --move "$1.full" "$1" && { cat /dev/zero > "$1/filling" 2>/dev/null || true; }'
)
# Files keep their owner, who may no longer write in the folder; without capabilities, this holds for root too.
_CLOSED = 'find "$1" -type d -exec chmod a-w {} +'
_WITHOUT_PRIVILEGES = "setpriv --inh-caps=-all --bounding-set=-all"

DISKS = ("read-only", "closed", "full", "no growth")


def another_disk(folder: Path) -> Path:
    """A folder that is not on the disk of this one; skips the test if there is none."""
    for place in (Path("/dev/shm"), Path(tempfile.gettempdir()), Path(__file__).parent):
        if place.is_dir() and os.access(place, os.W_OK) and place.stat().st_dev != folder.stat().st_dev:
            return place
    pytest.skip("there is no other disk")


def command_on(disk: str, folder: Path, command: list[str]) -> list[str]:
    """The command, run while the folder's disk is in this state; skips the test if the system cannot do it."""
    if disk == "no growth":  # no file can become larger than it is
        return ["sh", "-c", 'ulimit -f 0 && exec "$@"', "sh", *command]
    if disk == "closed":
        run = f'{_CLOSED} && shift && exec {_without_privileges()} "$@"'
        return ["sh", "-c", run, "sh", str(folder), *command]
    if not _can_mount():
        pytest.skip("this system lets no process mount a disk of its own")
    prepare = _READ_ONLY if disk == "read-only" else _FULL
    return [*_ALONE, "sh", "-c", f'{prepare} && cd "$1" && shift && exec "$@"', "sh", str(folder), *command]


@contextlib.contextmanager
def full_disk(largest: int = 0) -> Iterator[None]:
    """In this process, no file can grow beyond this size."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@functools.cache
def _can_mount() -> bool:
    try:
        return subprocess.run([*_ALONE, "mount", "-t", "tmpfs", "none", "/mnt"], check=False).returncode == 0
    except FileNotFoundError:
        return False


@functools.cache
def _without_privileges() -> str:
    if os.geteuid():
        return ""
    if subprocess.run([*shlex.split(_WITHOUT_PRIVILEGES), "true"], check=False).returncode:
        pytest.skip("this system does not let root give up its privileges")
    return _WITHOUT_PRIVILEGES
