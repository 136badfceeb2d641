"""Rate limits, per token and per address. Each process counts for itself: n copies allow up to n times as much."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from anamnesis.hub.refusal import TooMany

# Buckets that are kept. Beyond, the least recently used one is dropped, and its caller starts with a full one.
_MOST_CALLERS = 50_000
# Requests a second of one token.
DEFAULT_RATE = 50.0


class Limit:
    """A token bucket for each caller: `rate` requests a second, and a burst."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate = rate
        self.burst = burst
        self._clock = clock
        self._buckets: OrderedDict[str | bytes, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, caller: str | bytes, cost: float = 1.0) -> None:
        """Count a request; refuse it if the caller has made too many."""
        with self._lock:
            now = self._clock()
            left, since = self._buckets.pop(caller, (self.burst, now))
            left = min(self.burst, left + (now - since) * self.rate)
            is_allowed = left >= cost
            self._buckets[caller] = left - cost if is_allowed else left, now
            if len(self._buckets) > _MOST_CALLERS:
                self._buckets.popitem(last=False)
        if not is_allowed:
            seconds = math.ceil((cost - left) / self.rate)
            raise TooMany("Too many requests.", f"Try again in {seconds} s.", seconds)


class Limits:
    """The limits of a server: of each token, of each address, of failed logins, and of new device codes."""

    def __init__(self, rate: float = DEFAULT_RATE, clock: Callable[[], float] = time.monotonic) -> None:
        self.token = Limit(rate, 6 * rate, clock)
        self.address = Limit(4 * rate, 20 * rate, clock)  # many machines may be behind one
        self.failure = Limit(0.5, 30, clock)
        self.device = Limit(0.1, 10, clock)
