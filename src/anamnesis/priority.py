"""The priority of threads."""

from __future__ import annotations

import os
import sys
import threading

# A thread with a lower priority still gets enough of a busy machine to release Python's lock when others wait for it.
_NICE = 10


def lower_priority() -> None:
    """Let short work go before that of this thread, where the system has priorities of threads."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
