"""Measures how the CPU time of a call grows with its input. Thread time is little affected by other processes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Input = TypeVar("Input")

# Each step is four times the one before: linear work takes 4 times as long, quadratic work 16 times.
STEPS = (4_000, 16_000, 62_000, 250_000, 1_000_000)
_MOST_GROWTH = 9.0
# A faster call cannot be measured at this step; if it is quadratic, the next step shows it.
_MEASURABLE_SECONDS = 0.04
_REPEATED = 3


def superlinear(call: Callable[[Input], object], make: Callable[[int], Input], largest: int = STEPS[-1]) -> str:
    """A message if the time of the call grows faster than its input; "" otherwise."""
    before = 0.0
    for size in (step for step in STEPS if step <= largest):
        elapsed = seconds(call, make(size))
        if _is_growth(before, elapsed):
            # Measured again, both in turn, because the speed of a shared processor varies.
            small, large = make(size // 4), make(size)
            pairs = [(seconds(call, small), seconds(call, large)) for _ in range(_REPEATED)]
            if all(_is_growth(*pair) for pair in pairs):
                before, elapsed = min(pairs)
                return f"{size:,} characters took {elapsed:.3f} s, a quarter of them {before:.3f} s"
        before = elapsed
    return ""


def _is_growth(before: float, elapsed: float) -> bool:
    return elapsed > max(_MEASURABLE_SECONDS, _MOST_GROWTH * max(before, _MEASURABLE_SECONDS / 4))


def seconds(call: Callable[[Input], object], given: Input) -> float:
    """The processor time of one call."""
    started = time.thread_time()
    call(given)
    return time.thread_time() - started
