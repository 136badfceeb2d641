"""Background work: a process that the caller does not wait for. At an agent's end, all hooks share 1.5 seconds."""

from __future__ import annotations

import subprocess
import sys

# On Windows, which has no sessions: CREATE_NEW_PROCESS_GROUP and DETACHED_PROCESS.
_DETACHED = 0x208 if sys.platform == "win32" else 0


def run_in_background(*arguments: str) -> None:
    """Start `anamnesis` with these arguments as a detached process that outlives this one."""
    process = subprocess.Popen(
        [sys.executable, "-m", "anamnesis", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        creationflags=_DETACHED,
    )
    process.returncode = 0  # it is not waited for, and Python must not warn about that
