"""Bootstrap intervals: how much an average would vary with another sample of cases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from anamnesis.errors import InvalidArgument
from anamnesis.eval.report import COSTS, KS, CaseResult, measures
from anamnesis.plural import listed

_RESAMPLES = 10_000
# Cells of the matrix of resamples per batch: 16 MB.
_CELLS = 2_000_000
# With fewer cases, an interval means nothing: that of a few equal differences has the length zero.
_FEWEST = 10


class Interval(NamedTuple):
    """An average, and the bounds between which 95 % of the averages of resampled cases are."""

    mean: float
    low: float
    high: float


class MeasureDifference(NamedTuple):
    """A measure of two rankings, and the interval of its difference over the same cases, b minus a."""

    measure: str
    a: float
    b: float
    interval: Interval
    is_noise: bool


def intervals(outcomes: Sequence[CaseResult], ks: Iterable[int] = KS, seed: int = 0) -> dict[str, Interval]:
    """The interval of each measure."""
    chosen = measures(ks)
    return dict(zip(chosen, _resampled(_values(outcomes, ks), seed), strict=True))


def compare(
    a: Sequence[CaseResult], b: Sequence[CaseResult], ks: Iterable[int] = KS, seed: int = 0
) -> list[MeasureDifference]:
    """The differences between two rankings in each measure; both must have the same queries in the same order."""
    if [each.query for each in a] != [each.query for each in b]:
        raise InvalidArgument("The two reports are not about the same cases.", "Run both with one file of cases.")
    first, second = _values(a, ks), _values(b, ks)
    found = []
    for name, of_a, of_b, interval in zip(
        measures(ks), first.mean(0), second.mean(0), _resampled(second - first, seed), strict=True
    ):
        is_noise = len(a) < _FEWEST or interval.low <= 0 <= interval.high
        found.append(MeasureDifference(name, float(of_a), float(of_b), interval, is_noise))
    return found


def verdict(differences: Sequence[MeasureDifference], a: str, b: str, cases: int) -> str:
    """One sentence: whether b differs from a by more than noise."""
    if cases < _FEWEST:
        return f"{cases} cases are too few to tell {b} from {a}; at least {_FEWEST} are needed."
    real = [each for each in differences if not each.is_noise and each.measure not in COSTS]
    better = [each.measure for each in real if each.interval.mean > 0]
    worse = [each.measure for each in real if each.interval.mean < 0]
    if not real:
        return f"The difference between {a} and {b} is no more than noise."
    parts = [f"{word} in {listed(names)}" for word, names in (("better", better), ("worse", worse)) if names]
    return f"{b} is {' and '.join(parts)} than {a}, by more than noise."


def _values(outcomes: Sequence[CaseResult], ks: Iterable[int]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """A row for each outcome, a column for each measure."""
    if not outcomes:
        raise InvalidArgument("There are no cases.")
    chosen = measures(ks).values()
    return np.array([[measure(outcome) for measure in chosen] for outcome in outcomes], np.float64)


def _resampled(values: np.ndarray[tuple[int, int], np.dtype[np.float64]], seed: int) -> list[Interval]:
    """The interval of each column's mean. A resample is how often each row is drawn, and a mean is a product."""
    random = np.random.default_rng(seed)
    count = len(values)
    even = np.full(count, 1 / count)
    step = max(1, _CELLS // count)
    means = [
        random.multinomial(count, even, min(step, _RESAMPLES - start)) @ values / count
        for start in range(0, _RESAMPLES, step)
    ]
    low, high = np.percentile(np.concatenate(means), [2.5, 97.5], axis=0)
    return [Interval(*map(float, each)) for each in zip(values.mean(0), low, high, strict=True)]
