"""Shifts the clock of every Python process with this folder in PYTHONPATH by CLOCK_OFFSET seconds.

File times still come from the kernel, as on a machine whose clock was corrected after the files were written.
"""

from __future__ import annotations

import datetime
import os
import time
from datetime import timedelta, tzinfo
from typing import Self

_SECONDS = float(os.environ["CLOCK_OFFSET"])
_true_time, _true_time_ns = time.time, time.time_ns


class _Shifted(datetime.datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return super().now(tz) + timedelta(seconds=_SECONDS)


datetime.datetime = _Shifted  # type: ignore[misc]
time.time = lambda: _true_time() + _SECONDS
time.time_ns = lambda: _true_time_ns() + int(_SECONDS * 1e9)
