"""Kills a process at a chosen moment: before its n-th statement or file operation."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Any

_KILLED = 9
_COUNTED = {"execute", "executemany", "executescript", "backup", "open", "replace", "unlink", "mkdir", "fsync", "close"}


def die_at(number: int) -> None:
    """Count the statements and file operations of this process from now on, and exit at once at that number."""
    left = number

    def count(_: FrameType, event: str, function: Any) -> None:
        nonlocal left
        if event == "c_call" and function.__name__ in _COUNTED:
            left -= 1
            if left <= 0:
                os._exit(_KILLED)

    sys.setprofile(count)
    threading.setprofile(count)


def fork(work: Callable[[], None], number: int) -> int:
    """Run `work` in a forked process that dies at a chosen moment; returns the process id."""
    process = os.fork()
    if process == 0:
        status = 1
        try:
            die_at(number)
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return process


def wait_for(process: int) -> bool:
    """Whether the process was killed."""
    _, status = os.waitpid(process, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, _KILLED), code
    return code == _KILLED
