"""Reports a daemon's figures under load: one table of figures, one of targets, and the machine."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from bench.report import machine

HEADING = "# Engram's dialect under load"
COLUMNS = ("observations", "request", "connections", "requests/s", "p50 ms", "p99 ms", "errors", "CPU µs", "memory MB")
_BESIDE = " beside searches"
_METHOD = """\
A daemon with that many observations of 106 words, driven from one thread on the same machine: each connection sends
a request, takes its answer and sends the next. *CPU µs* is the daemon's time for one request, *memory* what it holds
afterwards. *Beside searches*: one connection, while two others search for a word that half of the observations have.
A start is from the call of the program to the first connection that it takes and to its first answer, of `engram mcp`
to its answer to `tools/list`; the median of five. `engram` is a link to `anamnesis`."""


@dataclass(frozen=True, slots=True)
class Figure:
    """The figures of one kind of request on a number of connections."""

    name: str
    connections: int
    memory_mb: float
    rate: float = math.nan
    p50: float = math.nan
    p99: float = math.nan
    errors: int = 0
    cpu: float = math.nan


@dataclass(frozen=True, slots=True)
class DaemonStart:
    """The time of a program until it accepts a connection and until it answers, and its memory then."""

    name: str
    accepted_ms: float
    answered_ms: float
    memory_mb: float


@dataclass(frozen=True, slots=True)
class Load:
    """All figures for one size of memory."""

    size: int
    starts: list[DaemonStart]
    figures: list[Figure]

    def start(self, name: str) -> DaemonStart:
        return next(start for start in self.starts if name in start.name)

    def figure(self, name: str, connections: int) -> Figure:
        return next(each for each in self.figures if (each.name, each.connections) == (name, connections))


@dataclass(frozen=True, slots=True)
class Target:
    """A figure with a minimum or a maximum."""

    label: str
    unit: str
    value: Callable[[Load], float]
    least: float = -math.inf
    most: float = math.inf

    def row(self, load: Load) -> tuple[str, ...]:
        bound = f"≥ {self.least:,.0f} {self.unit}" if self.least > 0 else f"≤ {self.most:g} {self.unit}"
        try:
            value = self.value(load)
        except (StopIteration, ValueError):  # not measured in this run
            return self.label, bound, "–", "–"
        is_met = "yes" if self.least <= value <= self.most else "NO"
        return self.label, bound, f"{value:,.{0 if value >= 100 else 2}f} {self.unit}", is_met


def beside(name: str) -> str:
    return name + _BESIDE


def _rate(name: str, connections: int, least: float) -> Target:
    label = f"{name}, {connections} connections"
    return Target(label, "requests/s", lambda load: load.figure(name, connections).rate, least=least)


def _p50(name: str, most: float) -> Target:
    return Target(f"{name}, p50 of one connection", "ms", lambda load: load.figure(name, 1).p50, most=most)


TARGETS = (
    _rate("GET /observations/{id}", 8, 8_000),
    _rate("GET /observations/{id}", 32, 8_000),
    _p50("GET /observations/{id}", 0.3),
    _rate("GET /health", 8, 15_000),
    _p50("GET /search, a rare word", 2),
    _p50("GET /search, two words", 2),
    _p50("GET /search, a common word", 60),
    Target("other routes beside searches, the slowest p99", "ms", lambda load: max(_beside(load)), most=20),
    _p50("GET /context", 2),
    _p50("GET /observations/recent", 2),
    _p50("GET /timeline", 2),
    _p50("GET /stats", 5),
    _p50("POST /observations", 1),
    _rate("POST /observations", 32, 2_500),
    Target("errors", "answers", lambda load: sum(each.errors for each in load.figures), most=0),
    Target("a start until it accepts", "ms", lambda load: max(each.accepted_ms for each in _daemons(load)), most=300),
    Target("a start until it answers", "ms", lambda load: max(each.answered_ms for each in _daemons(load)), most=500),
    Target("memory, idle", "MB", lambda load: max(each.memory_mb for each in _daemons(load)), most=45),
    Target("memory, 32 connections", "MB", lambda load: max(_memory(load, 32)), most=120),
    Target("`engram mcp` until tools/list", "ms", lambda load: load.start("mcp").answered_ms, most=150),
    Target("`engram mcp`, memory", "MB", lambda load: load.start("mcp").memory_mb, most=30),
)


def _daemons(load: Load) -> list[DaemonStart]:
    return [start for start in load.starts if "mcp" not in start.name]


def _beside(load: Load) -> list[float]:
    return [each.p99 for each in load.figures if each.name.endswith(_BESIDE)]


def _memory(load: Load, connections: int) -> list[float]:
    return [each.memory_mb for each in load.figures if each.connections == connections]


def start_row(size: int, start: DaemonStart) -> str:
    accepted = "" if math.isnan(start.accepted_ms) else f"accepts after {start.accepted_ms:.0f} ms, "
    what = f"{start.name}: {accepted}answers after {start.answered_ms:.0f} ms"
    return line(f"{size:,}", what, *[""] * 6, f"{start.memory_mb:.0f}")


def figure_row(size: int, figure: Figure) -> str:
    times = f"{figure.rate:,.0f}", f"{figure.p50:.2f}", f"{figure.p99:.2f}"
    cpu = "" if math.isnan(figure.cpu) else f"{figure.cpu:.0f}"
    rest = str(figure.errors), cpu, f"{figure.memory_mb:.0f}"
    return line(f"{size:,}", figure.name, str(figure.connections), *times, *rest)


def head(*columns: str) -> str:
    return line(*columns) + "\n" + "|---" * len(columns) + "|"


def judged(load: Load) -> str:
    rows = [line(*target.row(load)) for target in TARGETS]
    return "\n".join([head(f"target at {load.size:,} observations", "wanted", "measured", "met"), *rows])


def section(loads: Sequence[Load]) -> str:
    """The section on load; targets apply to the largest memory."""
    parts = [
        HEADING,
        f"Written by `python -m bench.load --record` on {datetime.now(UTC):%Y-%m-%d}."
        f" Machine: {machine(sqlite3.sqlite_version)}.",
        judged(max(loads, key=lambda load: load.size)),
        "\n".join([head(*COLUMNS), *(row for load in loads for row in _rows(load))]),
        _METHOD,
    ]
    return "\n\n".join(parts) + "\n"


def _rows(load: Load) -> Iterator[str]:
    yield from (start_row(load.size, start) for start in load.starts)
    yield from (figure_row(load.size, figure) for figure in load.figures)


def line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
