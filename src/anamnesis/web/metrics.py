"""Counters of the daemon, in the text format of Prometheus."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator

TYPE = "text/plain; version=0.0.4; charset=utf-8"

# Requests for the state of the daemon and its dreams, and those without a route; they do not interrupt a dream.
_NO_WORK = ("/health", "/ready", "/metrics", "/dream/status", "/dream/last-report", "")


class Metrics:
    """Number and duration of answers, by route and status.

    While `on_work` is set, it is called when a request for work arrives.
    """

    def __init__(self) -> None:
        self.on_work: Callable[[], object] | None = None
        self.started = time.time()
        self._answers: dict[tuple[str, str, int], list[float]] = {}

    def count(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count an answer. `path` is the route's, so that there are no more rows than routes."""
        entry = self._answers.get((method, path, status))
        if entry is None:
            entry = self._answers[method, path, status] = [0, 0.0]
        entry[0] += 1
        entry[1] += seconds

    @property
    def requests(self) -> int:
        """The number of requests for work, without those for the state of the daemon."""
        return int(sum(count for (_, path, _), (count, _) in [*self._answers.items()] if path not in _NO_WORK))

    def arrived(self, path: str) -> None:
        """Call `on_work` if a request of this path is for work."""
        if self.on_work and path not in _NO_WORK:
            self.on_work()

    def text(self, **gauges: float) -> str:
        """The page, with these current values."""
        return "\n".join([*self._requests(), *self._gauges(gauges), ""])

    def _requests(self) -> Iterator[str]:
        rows = sorted(self._answers.items())
        for name, kind, about, column in (
            ("anamnesis_http_requests_total", "counter", "Requests answered.", 0),
            ("anamnesis_http_request_seconds_total", "counter", "Time from a request to its answer.", 1),
        ):
            yield f"# HELP {name} {about}"
            yield f"# TYPE {name} {kind}"
            for (method, path, status), values in rows:
                yield f'{name}{{method="{method}",route="{path}",status="{status}"}} {values[column]:.9g}'

    def _gauges(self, gauges: dict[str, float]) -> Iterator[str]:
        values = {**gauges, "process_start_time_seconds": self.started}
        if (memory := _resident_bytes()) is not None:
            values["process_resident_memory_bytes"] = memory
        for name, value in values.items():
            yield f"# TYPE {name} {'counter' if name.endswith('_total') else 'gauge'}"
            yield f"{name} {value:.15g}"


def _resident_bytes() -> int | None:
    """The memory of this process; None if the system does not show it in a file."""
    if sys.platform != "linux":
        return None
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
