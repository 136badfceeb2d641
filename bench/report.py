"""Reports the measurements: one table with targets and verdicts, and the machine."""

from __future__ import annotations

import argparse
import os
import platform
import re
import sqlite3
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from bench.programs import COLD_STARTS, QUERIES_OF_EACH_LENGTH, WRITES, StoreTimes

# A figure, or the reason for its absence.
Value = float | str
# By number of notes: the earlier implementation (or why it was not measured), and this one.
Results = dict[int, tuple[StoreTimes | str, StoreTimes]]

_NOISE = 1.2
_SMALL, _LARGE = 1_000, 50_000
_NUMBERS = range(1, 5)  # the columns that are aligned to the right

_METHOD = f"""\
Both programs run one after the other on copies of the same synthetic store: notes of 120 words drawn from
20,000 made-up words, the r-th with a chance of 1/r. The same script times each in a process of its own
environment, through `MemoryStore` alone. The files are in the system's cache; SQLite's own cache is empty at
the start of each operation.

- **full reindex**: the median of up to five, as many as begin within 10 s.
- **write**: {WRITES} notes of 120 words. This version syncs the note's file and its folder to disk before it
  answers; the earlier one syncs its index alone.
- **search**: {3 * QUERIES_OF_EACH_LENGTH} queries of 3, 4 and 5 words with the notes' mix of common and rare
  words, each asked once, for the 8 best notes, after the writes.
- **list of 50**: `list(limit=50)`; the earlier version has no limit and reads every note.
- **open**: `MemoryStore(root)` and `close()` on a store that nobody changed.
- **sync**: with a bare repository on the same disk, the index brought up to date; nothing to do, or one note
  written before each.
- **`anamnesis ...`**: the whole command from start to exit, {COLD_STARTS} times or as often as begins within 20 s:
  `search` and `recall` with 4 words, `capture` with a transcript of 300 lines, `sync` with nothing to do.
- **peak memory**: of the process that did all of this but the command, the rebuilding included.
- **ratio**: the earlier figure divided by this one."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure measured at every size, with a maximum or a minimum gain over the earlier implementation."""

    label: str
    unit: str
    value: Callable[[StoreTimes], Value]
    most: Callable[[int], float | None] = field(default=lambda _: None)
    gain: Callable[[int], float | None] = field(default=lambda _: None)


@dataclass(frozen=True, slots=True)
class Row:
    label: str
    notes: str
    unit: str
    earlier: Value
    this: Value
    target: str = ""
    met: bool | None = None

    @property
    def ratio(self) -> float | None:
        if isinstance(self.earlier, str) or isinstance(self.this, str):
            return None
        return self.earlier / self.this


def _command(name: str) -> Callable[[StoreTimes], Value]:
    return lambda measured: measured.problems.get(name) or measured.p50(f"anamnesis {name}")


METRICS = [
    Metric("full reindex", "s", lambda m: m.p50("reindex") / 1000, gain={10_000: 20.0}.get),
    Metric("full reindex, a note", "ms", lambda m: m.p50("reindex") / m.notes, lambda _: 0.2),
    Metric("write p50", "ms", lambda m: m.p50("write"), lambda _: 1.5),
    Metric("write p95", "ms", lambda m: m.p95("write")),
    Metric("search p50", "ms", lambda m: m.p50("search"), {10_000: 2.0, 50_000: 6.0}.get),
    Metric("search p95", "ms", lambda m: m.p95("search")),
    Metric("list of 50, p50", "ms", lambda m: m.p50("list"), lambda _: 3.0),
    Metric("open p50", "ms", lambda m: m.p50("open"), lambda _: 5.0),
    Metric("sync, nothing to do, p50", "ms", lambda m: m.p50("idle sync"), {50_000: 150.0}.get),
    Metric("sync of one note, p50", "ms", lambda m: m.p50("sync of one"), {50_000: 1000.0}.get),
    Metric("first sync", "s", lambda m: m.p50("first sync") / 1000),
    Metric("`anamnesis search` p50", "ms", _command("search"), {50_000: 120.0}.get),
    Metric("`anamnesis inject` p50", "ms", _command("inject"), {50_000: 100.0}.get),
    Metric("`anamnesis recall` p50", "ms", _command("recall"), {50_000: 100.0}.get),
    Metric("`anamnesis capture --no-sync` p50", "ms", _command("capture"), {50_000: 150.0}.get),
    Metric("`anamnesis sync` p50, nothing to do", "ms", _command("sync")),
    Metric("peak memory", "MB", lambda m: m.peak_mb),
]


def rows(results: Results) -> Iterator[Row]:
    for metric in METRICS:
        for size, (earlier, this) in sorted(results.items()):
            yield _row(metric, size, earlier, this)
        if metric.label == "write p50" and {_SMALL, _LARGE} <= results.keys():
            yield _growth(results)


def _row(metric: Metric, size: int, earlier: StoreTimes | str, this: StoreTimes) -> Row:
    old = earlier if isinstance(earlier, str) else metric.value(earlier)
    row = Row(metric.label, f"{size:,}", metric.unit, old, metric.value(this))
    target, met = "", None
    if most := metric.most(size):
        target = f"≤ {most:g} {metric.unit}"
        met = None if isinstance(row.this, str) else row.this <= most
    elif gain := metric.gain(size):
        target = f"ratio ≥ {gain:g}×"
        met = None if row.ratio is None else row.ratio >= gain
    return Row(row.label, row.notes, row.unit, row.earlier, row.this, target, met)


def _growth(results: Results) -> Row:
    """Whether a write takes longer in a large store than in a small one."""
    (old_small, small), (old_large, large) = results[_SMALL], results[_LARGE]
    old: Value
    if isinstance(old_small, str) or isinstance(old_large, str):
        old = str(old_large)
    else:
        old = old_large.p50("write") / old_small.p50("write")
    new = large.p50("write") / small.p50("write")
    notes = f"{_LARGE:,} : {_SMALL:,}"
    return Row("write p50, growth", notes, "×", old, new, f"≤ 1× (noise: {_NOISE:g}×)", new <= _NOISE)


def table(results: Results) -> str:
    """The table in Markdown, its columns aligned for the terminal, with its footnotes."""
    reasons: list[str] = []

    def cell(value: Value, unit: str) -> str:
        if isinstance(value, float):
            return f"{_rounded(value)} {unit}"
        if value not in reasons:
            reasons.append(value)
        return f"– [{reasons.index(value) + 1}]"

    versions = {old.version for old, _ in results.values() if isinstance(old, StoreTimes)}
    this = next(iter(results.values()))[1].version
    lines = [["operation", "notes", " ".join(["earlier", *versions]), f"this {this}", "ratio", "target", "met"]]
    for row in rows(results):
        ratio = "–" if row.ratio is None else f"{_rounded(row.ratio)}×"
        met = {True: "yes", False: "NO", None: "–" if row.target else ""}[row.met]
        values = [cell(row.earlier, row.unit), cell(row.this, row.unit)]
        lines.append([row.label, row.notes, *values, ratio, row.target, met])
    notes = [f"- [{number}] {reason}" for number, reason in enumerate(reasons, 1)]
    return "\n".join([*_aligned(lines), "", *notes]).strip()


def verdict(results: Results) -> str:
    judged = [row for row in rows(results) if row.met is not None]
    missed = [f"{row.label} at {row.notes}" for row in judged if not row.met]
    return f"{len(judged) - len(missed)} of {len(judged)} targets met" + (
        f"; missed: {', '.join(missed)}." if missed else "."
    )


def machine(sqlite: str) -> str:
    system = f"{platform.system()} {platform.release()}, Python {platform.python_version()}, SQLite {sqlite}"
    return f"{os.cpu_count()} cores, {_cpu_model()}, {_memory_gb():.0f} GB of memory, {system}"


def add_record_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--record",
        nargs="?",
        type=Path,
        const=Path(__file__).with_name("RESULTS.md"),
        metavar="FILE",
        help="also write the figures to this file (RESULTS.md), replacing the earlier ones",
    )


def record(path: Path, part: str) -> None:
    """Write a section to the file, replacing the one with the same heading; other sections stay."""
    heading = part.partition("\n")[0]
    found = re.split("^(?=# )", path.read_text("utf-8") if path.exists() else "", flags=re.MULTILINE)
    parts = [part.strip() if each.startswith(f"{heading}\n") else each.strip() for each in found]
    if part.strip() not in parts:
        parts.append(part.strip())
    path.write_text("\n\n".join(filter(None, parts)) + "\n", encoding="utf-8")


def record_part(path: Path, heading: str, command: str, *parts: str) -> None:
    """Write the results of a command to the file, with the machine and the date."""
    about = f"Written by `python -m {command} --record` on {datetime.now(UTC):%Y-%m-%d}."
    record(path, "\n\n".join([heading, f"{about} Machine: {machine(sqlite3.sqlite_version)}.", *parts]) + "\n")


def section(results: Results) -> str:
    sqlite = next(iter(results.values()))[1].sqlite
    parts = [
        "# Measured against the earlier implementation",
        f"Written by `make bench` on {datetime.now(UTC):%Y-%m-%d}. Machine: {machine(sqlite)}.",
        table(results),
        verdict(results),
        "## Method",
        _METHOD,
    ]
    return "\n\n".join(parts) + "\n"


def _aligned(lines: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    aligned = []
    for line in lines:
        cells = enumerate(zip(line, widths, strict=True))
        padded = [text.rjust(width) if at in _NUMBERS else text.ljust(width) for at, (text, width) in cells]
        aligned.append(f"| {' | '.join(padded)} |")
    rule = ["-" * (width + 1) + (":" if at in _NUMBERS else "-") for at, width in enumerate(widths)]
    aligned.insert(1, f"|{'|'.join(rule)}|")
    return aligned


def _rounded(value: float) -> str:
    """Three significant digits, or all digits before the decimal point."""
    digits = 3 if value < 1 else 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:,.{digits}f}"


def _cpu_model() -> str:
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory_gb() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
