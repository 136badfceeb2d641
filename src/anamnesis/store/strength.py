"""How alive a note is, by its use. Pure.

The forgetting curve and the ranges are Reverie's. Two of its rules are left out, because they drive every memory
towards zero: nothing is scaled down by the number of cycles, since the curve already falls with time, and being
injected strengthens nothing, or what is shown at every start would be shown for ever. What a session does with a note
counts once a day, however often it does so.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, get_args

Kind = Literal["injected", "recalled", "found", "opened", "cited", "edited", "superseded"]
KINDS: tuple[Kind, ...] = get_args(Kind)

# By which part of what was forgotten a use raises the stability: more, the more it says about the note's worth.
_GAINS: dict[Kind, float] = {"recalled": 0.2, "found": 0.5, "opened": 1.0, "cited": 2.0, "edited": 2.0}
# What counts as a use: to be injected or superseded does not.
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
        """The same for a note that was written or changed at a time: that keeps it alive as well."""
        return self._replace(last=max(self.last, at))

    def retention(self, now: float) -> float:
        """Which part is not forgotten yet, from 1 at a use down towards 0."""
        days = max(0.0, now - self.last) / _DAY
        return float((1 + 19 / 81 * days / self.stability) ** -0.5)

    def strength(self, now: float) -> float:
        """From 0.01 to 1: what is not forgotten, more if several sessions used the note."""
        spread = math.log(1 + max(1, self.sessions)) / math.log(2)
        return min(1.0, max(_WEAKEST, self.retention(now) * spread))

    def staleness(self, now: float) -> float:
        """Which part is forgotten."""
        return 1 - self.retention(now)

    def after(self, kind: Kind, at: float, *, in_new_session: bool) -> Use:
        """The use of a note after it was used once more."""
        gain = _GAINS.get(kind)
        if gain is None:
            return self
        forgotten = self.staleness(at) if self.last else 0.0  # before its first use, nobody knows
        stability = min(_LONGEST, self.stability * (1 + gain * forgotten))
        return Use(max(self.last, at), self.uses + 1, self.sessions + in_new_session, stability)

    def again(self, kind: Kind, at: float) -> Use:
        """The same after a use that does not count, because the session has used the note so on that day."""
        return self.changed(at) if kind in _GAINS else self
