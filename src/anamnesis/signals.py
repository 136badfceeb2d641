"""Signals that end the program in order: `atexit` functions run, so that no process of git's is left behind."""

from __future__ import annotations

import signal
import sys


def exit_on_signals() -> None:
    """Let SIGTERM and SIGHUP end this process as `sys.exit` does. For the main thread."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number and signal.getsignal(number) is signal.SIG_DFL:  # `nohup` lets it be ignored
            signal.signal(number, lambda number, _: sys.exit(128 + number))
