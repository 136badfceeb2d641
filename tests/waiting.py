"""Waits for another process or thread, without asserting how long it takes."""

from __future__ import annotations

import time
from collections.abc import Callable

_FOR_EVER = 120.0


def wait_until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + _FOR_EVER
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)
