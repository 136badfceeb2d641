"""Waits for another process or thread, without an assertion about the time."""

from __future__ import annotations

import time
from collections.abc import Callable

_FOR_EVER = 120.0


def wait_until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + _FOR_EVER
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)
