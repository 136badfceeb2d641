"""Work that goes on when nobody waits for it: at the end of an agent, all hooks share 1.5 seconds."""

from __future__ import annotations

import subprocess
import sys

# On Windows, which has no sessions: CREATE_NEW_PROCESS_GROUP and DETACHED_PROCESS.
_DETACHED = 0x208 if sys.platform == "win32" else 0


def run_later(*arguments: str) -> None:
    """Start `anamnesis` with these arguments as a process of its own that outlives ours."""
    process = subprocess.Popen(
        [sys.executable, "-m", "anamnesis", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        creationflags=_DETACHED,
    )
    process.returncode = 0  # nobody waits for it, and Python is not to warn of that
