"""Our processes and threads: their end on signals, their priority, and detached processes."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from subprocess import Popen

# Low enough for background work, but high enough to release Python's lock soon on a busy machine.
_NICE = 10
# On Windows, which has no sessions: CREATE_NEW_PROCESS_GROUP and DETACHED_PROCESS.
_DETACHED = 0x208 if sys.platform == "win32" else 0


def exit_on_signals() -> None:
    """Let SIGTERM and SIGHUP end this process as `sys.exit` does, for `atexit` functions. For the main thread."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number and signal.getsignal(number) is signal.SIG_DFL:  # under `nohup`, SIGHUP is ignored
            signal.signal(number, lambda number, _: sys.exit(128 + number))


def lower_priority() -> None:
    """Lower the priority of this thread, if the system has priorities of threads."""
    if sys.platform == "linux":
        import threading

        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)


def run_in_background(*arguments: str) -> None:
    """Start `anamnesis` with these arguments as a detached process that outlives this one.

    At an agent's end, all hooks share 1.5 seconds.
    """
    process = start(*arguments, start_new_session=True, creationflags=_DETACHED)
    process.returncode = 0  # it is not waited for, and Python must not warn about that


def start(*arguments: str, **more: Any) -> Popen[bytes]:
    """Start `anamnesis` with these arguments, without input and output unless `more` says otherwise."""
    import subprocess  # 5 ms that other callers need not spend

    nothing = subprocess.DEVNULL
    command = [sys.executable, "-m", "anamnesis", *arguments]
    return subprocess.Popen(command, **{"stdin": nothing, "stdout": nothing, "stderr": nothing, **more})
