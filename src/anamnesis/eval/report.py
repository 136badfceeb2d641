"""The results of searches for the cases of an evaluation, and their measures. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean

# The number of hits that a search returns by default, which cost an agent tokens and time.
SHOWN = 8
# The number of hits among which relevant notes are looked for; a note beyond counts as not found.
DEPTH = 50
KS = (1, 3, 5, 8, 10)
_CHARACTERS_A_TOKEN = 4


def estimate_tokens(text: str) -> int:
    """The approximate number of tokens of a text: one per four characters."""
    return math.ceil(len(text) / _CHARACTERS_A_TOKEN)


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The result of a search for one case.

    `ranks` are the ranks, from 1, of the relevant notes among the first `DEPTH` hits. `shown` is the number of hits
    that a default search of `SHOWN` hits returned, `tokens` their cost for an agent, and `milliseconds` its time.
    """

    query: str
    kind: str
    relevant: int
    ranks: Sequence[int]
    shown: int
    tokens: int
    milliseconds: float

    def found(self, k: int) -> int:
        """How many of the relevant notes are among the first k hits."""
        return sum(rank <= k for rank in self.ranks)

    def recall(self, k: int) -> float:
        return self.found(k) / self.relevant if self.relevant else 0.0

    @property
    def reciprocal_rank(self) -> float:
        return 1 / min(self.ranks) if self.ranks else 0.0

    @property
    def precision(self) -> float:
        return self.found(SHOWN) / self.shown if self.shown else 0.0


Measure = Callable[[CaseResult], float]


def measures(ks: Iterable[int] = KS) -> dict[str, Measure]:
    """The measures by name: those of recall for each k, then the costs of the hits."""
    return {
        **{f"Recall@{k}": lambda outcome, k=k: outcome.recall(k) for k in ks},  # type: ignore[misc]
        "MRR": lambda outcome: outcome.reciprocal_rank,
        "Precision": lambda outcome: outcome.precision,
        "tokens": lambda outcome: outcome.tokens,
        "ms": lambda outcome: outcome.milliseconds,
    }


# The measures of which less is better.
COSTS = ("tokens", "ms")


@dataclass(frozen=True, slots=True)
class RecallReport:
    """The averages over cases. `recall_at` is the share of a case's relevant notes among the first k hits, `hit_at`
    the share of cases with any of them there, `mrr` the mean of 1 / rank of the first.

    `precision` is the share of relevant notes among the hits that a search returns, `tokens` what these cost an
    agent, `p50` and `p95` the milliseconds in which half and 95 % of the searches were done.
    """

    n_cases: int
    recall_at: dict[int, float]
    mrr: float
    hit_at: dict[int, float]
    precision: float
    tokens: float
    p50: float
    p95: float
    kinds: dict[str, RecallReport] = field(default_factory=dict)
    outcomes: Sequence[CaseResult] = field(default=(), repr=False)


def report_of(outcomes: Sequence[CaseResult], ks: Sequence[int] = KS) -> RecallReport:
    """The averages over all outcomes, and over those of each kind if there are several kinds."""
    kinds: dict[str, list[CaseResult]] = {}
    for outcome in outcomes:
        kinds.setdefault(outcome.kind, []).append(outcome)
    times = sorted(outcome.milliseconds for outcome in outcomes)
    return RecallReport(
        n_cases=len(outcomes),
        recall_at={k: _mean(outcome.recall(k) for outcome in outcomes) for k in ks},
        mrr=_mean(outcome.reciprocal_rank for outcome in outcomes),
        hit_at={k: _mean(outcome.found(k) > 0 for outcome in outcomes) for k in ks},
        precision=_mean(outcome.precision for outcome in outcomes),
        tokens=_mean(outcome.tokens for outcome in outcomes),
        p50=_percentile(times, 0.5),
        p95=_percentile(times, 0.95),
        kinds={kind: report_of(some, ks) for kind, some in sorted(kinds.items())} if len(kinds) > 1 else {},
        outcomes=tuple(outcomes),
    )


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return fmean(found) if found else 0.0


def _percentile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
