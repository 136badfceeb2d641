"""The strength of a note by its use. Pure.

The forgetting curve and the ranges are Reverie's. Two of its rules are left out. Scaling down by the number of cycles
would drive every memory towards zero, because the curve already falls with time. And injecting a note does not
strengthen it, because a note that is injected at every start would then be injected for ever. Each kind of use by a
session counts once a day.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, get_args

Kind = Literal["injected", "recalled", "found", "opened", "cited", "edited", "superseded"]
KINDS: tuple[Kind, ...] = get_args(Kind)

# How much a use raises the stability, times the forgotten share: more for uses that say more about the note's worth.
_GAINS: dict[Kind, float] = {"recalled": 0.2, "found": 0.5, "opened": 1.0, "cited": 2.0, "edited": 2.0}
# The kinds that count as a use; being injected or superseded does not.
USES = frozenset(_GAINS)
_LONGEST = 365.0
_WEAKEST = 0.01
_DAY = 86_400.0


class Use(NamedTuple):
    """The use of a note. `last` is the time of the last use in seconds, and `stability` the number of days after which
    a tenth is forgotten.
    """

    last: float = 0.0
    uses: int = 0
    sessions: int = 0
    stability: float = 1.0

    def changed(self, at: float) -> Use:
        """The use after the note was written or changed at a time, which refreshes it like a use."""
        return self._replace(last=max(self.last, at))

    def retention(self, now: float) -> float:
        """The share that is not forgotten yet: 1 at a use, then falling towards 0."""
        days = max(0.0, now - self.last) / _DAY
        return float((1 + 19 / 81 * days / self.stability) ** -0.5)

    def strength(self, now: float) -> float:
        """From 0.01 to 1: the retention, raised if several sessions used the note."""
        spread = math.log(1 + max(1, self.sessions)) / math.log(2)
        return min(1.0, max(_WEAKEST, self.retention(now) * spread))

    def staleness(self, now: float) -> float:
        """The share that is forgotten."""
        return 1 - self.retention(now)

    def after(self, kind: Kind, at: float, *, in_new_session: bool) -> Use:
        """The use after one more use of this kind."""
        gain = _GAINS.get(kind)
        if gain is None:
            return self
        forgotten = self.staleness(at) if self.last else 0.0  # unknown before the first use
        stability = min(_LONGEST, self.stability * (1 + gain * forgotten))
        return Use(max(self.last, at), self.uses + 1, self.sessions + in_new_session, stability)

    def again(self, kind: Kind, at: float) -> Use:
        """The use after a repetition that does not count: the same session, kind and day."""
        return self.changed(at) if kind in _GAINS else self
