"""Processes that are killed at a chosen moment: before the n-th statement or file operation of what they do."""

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
    """From now on count every statement and file operation of this process, and end it at that number, at once."""
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
    """Do something in a process of its own that ends at a chosen moment; the process."""
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
