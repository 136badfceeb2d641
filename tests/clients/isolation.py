"""Runs a command with no network but loopback, if the system allows it (Linux with user namespaces)."""

from __future__ import annotations

import functools
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import Sequence

_UNSHARE = ("unshare", "--user", "--map-current-user", "--keep-caps", "--net", "--")
_GET_FLAGS, _SET_FLAGS, _IS_UP = 0x8913, 0x8914, 1


@functools.cache
def is_possible() -> bool:
    """Whether this system isolates a process of ours."""
    if sys.platform != "linux" or not shutil.which("unshare"):
        return False
    return subprocess.run([*_UNSHARE, "true"], capture_output=True, check=False).returncode == 0


def isolated(words: Sequence[str]) -> list[str]:
    """The command, isolated from the network if that is possible."""
    return [*(_UNSHARE if is_possible() else ()), *words]


def bring_loopback_up() -> None:
    """Bring the loopback up if it is down, as in a new network."""
    if sys.platform != "linux":
        return
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        reply = fcntl.ioctl(any_socket, _GET_FLAGS, struct.pack("16s16x", b"lo"))
        (flags,) = struct.unpack_from("h", reply, 16)
        if not flags & _IS_UP:
            fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", b"lo", flags | _IS_UP))
