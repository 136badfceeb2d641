"""The number of connections that the limit of file descriptors allows, besides the daemon's own files."""

from __future__ import annotations

import contextlib
import sys

# For databases and their logs, watched folders, git, and connections that are accepted but not counted yet.
_RESERVE = 128


def connection_room(most: int) -> int:
    """The number of connections that the limit allows, up to `most`. Raises the soft limit first, as far as needed."""
    if sys.platform == "win32":
        return most
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return most
    wanted = most + _RESERVE if hard == resource.RLIM_INFINITY else min(most + _RESERVE, hard)
    if soft < wanted:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return min(most, max(soft // 2, soft - _RESERVE))
