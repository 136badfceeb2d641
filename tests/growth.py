"""Judges how the time of a call grows with its input, beside a linear pattern that is timed in the same turns.

A busy or slow machine slows both. The time is that of the thread's processor, and of several turns the fastest counts.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TypeVar

Input = TypeVar("Input")

# Each step is four times the one before: linear work takes 4 times as long, quadratic work 16 times.
STEPS = (4_000, 16_000, 62_000, 250_000, 1_000_000)
_LINEAR_GROWTH = 4.0
_MOST_GROWTH = 9.0
# What a faster call takes says nothing; if it is quadratic, the next step shows it.
_MEASURABLE_SECONDS = 0.0025
_TURNS = 3
# Linear, but it remembers each repetition: megabytes of memory, which the system hands out slowly.
_REFERENCE = re.compile(r"(?:(?:and|but)\s+)+")
# The reference of 300,000 characters takes about 3 ms.
_LONG_FOR_A_FEW = 20.0


def superlinear(call: Callable[[Input], object], make: Callable[[int], Input], largest: int = STEPS[-1]) -> str:
    """A message if the time of the call grows faster than its input; "" otherwise."""
    before = 0.0
    for size in (step for step in STEPS if step <= largest):
        elapsed = seconds(call, make(size))
        if _is_growth(before, elapsed, _MOST_GROWTH) and (found := _excess(call, make, size)):
            return found
        before = elapsed
    return ""


def _is_growth(before: float, elapsed: float, most: float) -> bool:
    return elapsed > most * max(before, _MEASURABLE_SECONDS)


def _excess(call: Callable[[Input], object], make: Callable[[int], Input], size: int) -> str:
    """A message if from a sixteenth of this size the time grows more than that of the reference; "" otherwise.

    Linear work takes 16 times as long and quadratic work 256 times, far beyond what it costs that memory is new or does
    not fit a cache.
    """
    sizes = size // 16, size
    small, large = map(make, sizes)
    turns = [(seconds(call, small), seconds(call, large), *map(reference, sizes)) for _ in range(_TURNS)]
    before, elapsed, linear_before, linear = map(min, zip(*turns, strict=True))
    excused = max(1.0, linear / linear_before / _LINEAR_GROWTH**2)
    if not _is_growth(before, elapsed, _MOST_GROWTH**2 * excused):
        return ""
    return f"{size:,} characters took {elapsed:.3f} s, a sixteenth of them {before:.3f} s"


def is_long_for_a_few(call: Callable[[Input], object], given: Input) -> bool:
    """Whether a call with at most 300 characters takes longer than linear work with a thousand times as many."""
    return all(seconds(call, given) > _LONG_FOR_A_FEW * reference(300_000) for _ in range(_TURNS))


def reference(size: int) -> float:
    """The processor time of linear work with so many characters."""
    return seconds(_REFERENCE.match, "and " * (size // 4))


def seconds(call: Callable[[Input], object], given: Input) -> float:
    """The processor time of one call."""
    started = time.thread_time()
    call(given)
    return time.thread_time() - started
