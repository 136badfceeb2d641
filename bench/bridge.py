"""`python -m bench.bridge`: the cost of keeping notes and observations as one memory."""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from anamnesis.vault import Vault
from bench import dialect, report
from bench.client import Requests, RequestTimes, drive
from bench.corpus import Vocabulary
from bench.driver import show, timed
from bench.load import OURS, environment, fill, running
from bench.verdict import head, line

HEADING = "# The bridge"
_WRITES = 300
_OPENINGS = 20
# Two runs of the same read differ by up to this factor, so a smaller difference counts as none.
_NOISE = 1.2
_METHOD = """\
An `engram.db` of that many observations of 106 words is adopted by `anamnesis bridge reconcile`, then written to
through either door. *Notes*: `MemoryStore.write` of 100 words, in a process of its own. *Observations*: `POST
/observations` to the daemon. *Without*: the same with the setting `bridge` off, and with a copy of `engram.db` that was
not adopted. An opening is that of a store and its bridge, and the question whether anything has changed. *A file made*:
the disk by itself; ext4 without a journal takes ten times as long in the minutes after many files were deleted."""


@dataclass(frozen=True, slots=True)
class Row:
    """A figure, its target, and its value without the bridge."""

    label: str
    unit: str
    value: float
    most: float | None = None
    least: float | None = None
    without: float | None = None

    def text(self) -> str:
        most = self.without * _NOISE if self.most is None and self.least is None and self.without else self.most
        wanted = f"≥ {self.least:,.0f}" if self.least else "" if most is None else f"≤ {most:,.2f}"
        is_met = self.value >= self.least if self.least else most is None or self.value <= most
        met = "" if not wanted else "yes" if is_met else "NO"
        without = "" if self.without is None else f"{self.without:,.2f}"
        return line(
            self.label, f"{wanted} {self.unit}" if wanted else "", f"{self.value:,.2f} {self.unit}", without, met
        )


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        rows = list(_measured(Path(folder), options.size, options.seconds))
    columns = (f"at {options.size:,} observations", "wanted", "measured", "without", "met")
    table = "\n".join([head(*columns), *(row.text() for row in rows)])
    print(table)
    if options.record:
        report.record_part(options.record, HEADING, "bench.bridge", table, _METHOD)
    return 0


def _measured(folder: Path, size: int, seconds: float) -> Iterator[Row]:
    home, other = folder / "home", folder / "other"
    home.mkdir()
    fill(OURS, home, size)
    shutil.copytree(home, other)
    alone = _driven(other, size, seconds, "off")
    yield from _adoption(home, size)
    twins = _driven(home, size, seconds, "on")
    yield Row("a file made and named, p50", "ms", _file_made(other))
    yield Row("opening with nothing changed, p50", "ms", _opening(home), most=10.0)
    show("writing notes")
    bridged = _notes(lambda: _connected(home))
    plain = _notes(lambda: Vault(home))
    yield Row("a note written, p50", "ms", bridged["write"], most=2.5, without=plain["write"])
    post, many = "POST /observations", twins["POST /observations", 32]
    yield Row(
        "an observation posted, p50", "ms", twins[post, 1].percentile(50), 2.5, None, alone[post, 1].percentile(50)
    )
    yield Row("observations posted, 32 connections", "a second", many.rate, None, 800, alone[post, 32].rate)
    yield Row("notes searched, p50", "ms", bridged["search"], without=plain["search"])
    for name in ("GET /observations/{id}", "GET /search, a rare word"):
        with_twins, without = (each[name, 1].percentile(50) for each in (twins, alone))
        yield Row(f"{name}, p50", "ms", with_twins, without=without)
    errors = sum(measured.errors for driven in (alone, twins) for measured in driven.values())
    yield Row("errors", "answers", errors, most=0.0)


def _adoption(home: Path, size: int) -> Iterator[Row]:
    show(f"adopting {size:,}")
    program = Path(sys.executable).with_name("anamnesis")
    started = time.perf_counter()
    subprocess.run([program, "bridge", "reconcile"], env=environment(home, 0, "on"), check=True, capture_output=True)
    yield Row("adoption", "s", time.perf_counter() - started, most=60.0)
    yield Row("adoption, memory", "MB", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)


def _file_made(folder: Path) -> float:
    """The time to create and rename a file, the least that a note needs of the disk."""
    names = iter(range(_WRITES))

    def make() -> None:
        path = folder / f"file-{next(names)}"
        path.write_bytes(b"x" * 1000)
        path.rename(path.with_suffix(".md"))

    return statistics.median(timed(make) for _ in range(_WRITES))


def _driven(home: Path, size: int, seconds: float, bridge: str) -> dict[tuple[str, int], RequestTimes]:
    """The daemon's figures: each kind of request on one connection, and writes on 32 too."""
    found = {}
    kinds = dialect.requests(size, dialect.words(size))
    with running(OURS, home, bridge) as daemon:
        for name, connections in (
            ("GET /observations/{id}", 1),
            ("GET /search, a rare word", 1),
            ("POST /observations", 1),
            ("POST /observations", 32),
        ):
            show(f"{name}, {connections} connections, bridge {bridge}")
            requests: Requests = kinds[name]
            [found[name, connections]] = drive(daemon.port, [(requests, connections)], seconds)
    return found


def _opening(home: Path) -> float:
    def opened() -> None:
        with _connected(home) as vault:
            vault.follow(200)

    opened()
    return statistics.median(timed(opened) for _ in range(_OPENINGS))


def _connected(home: Path) -> Vault:
    vault = Vault(home, home / "engram.db")
    vault.connect(home / "engram.db", "bench")
    return vault


def _notes(opened: Callable[[], Vault]) -> dict[str, float]:
    vocabulary = Vocabulary(os.getpid())
    with closing(opened()) as store:
        writes = [
            timed(lambda: store.write(type="semantic", title=vocabulary.text(6), body=vocabulary.text(100)))
            for _ in range(_WRITES)
        ]
        searches = [timed(lambda: store.search(vocabulary.text(4), mode="words")) for _ in range(_WRITES)]
    return {"write": statistics.median(writes), "search": statistics.median(searches)}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.bridge", description="Measures the bridge.")
    parser.add_argument("--size", type=int, default=50_000, help="observations (50000)")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long each kind of request is measured (5)")
    report.add_record_option(parser)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
