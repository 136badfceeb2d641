"""`python -m bench.load`: drives any daemon that speaks Engram's dialect, this one or Engram itself.

python -m bench.load
python -m bench.load --command 'engram serve {port}' --sizes 1000
python -m bench.load --record
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import math
import os
import shlex
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import dialect, report, verdict
from bench.client import RequestTimes, ask, drive, get, post
from bench.driver import show
from bench.verdict import DaemonStart, Figure, Load

OURS = f"{shlex.quote(str(Path(sys.executable).with_name('anamnesis')))} daemon --port {{port}}"
_BESIDE = ("GET /health", "GET /observations/{id}", "GET /context", "GET /observations/recent", "POST /observations")
_STARTS = 5


@dataclass(frozen=True, slots=True)
class RunningDaemon:
    """A running daemon, and the time from its start to its first connection and its first answer."""

    process: subprocess.Popen[bytes]
    port: int
    accepted_ms: float = math.nan
    answered_ms: float = math.nan

    def memory_mb(self) -> float:
        return self._read("statm", 1) * os.sysconf("SC_PAGE_SIZE") / 2**20

    def cpu_seconds(self) -> float:
        return (self._read("stat", 13) + self._read("stat", 14)) / os.sysconf("SC_CLK_TCK")

    def _read(self, name: str, column: int) -> float:
        """A number from the process's file in /proc; NaN if there is none."""
        try:
            return int(Path(f"/proc/{self.process.pid}/{name}").read_text().split()[column])
        except FileNotFoundError:
            return float("nan")


def main() -> int:
    options = _options()
    print(verdict.head(*verdict.COLUMNS))
    loads = []
    for size in options.sizes:
        with tempfile.TemporaryDirectory() as home:
            loads.append(_measure(options, Path(home), size))
    print("", verdict.judged(loads[-1]), sep="\n")
    if options.record:
        report.record(options.record, verdict.section(loads))
    return 0


def _measure(options: argparse.Namespace, home: Path, size: int) -> Load:
    fill(options.command, home, size)
    load = Load(size, [], [])
    for start in _starts(options.command, home):
        load.starts.append(start)
        print(verdict.start_row(size, start), flush=True)
    sought = dialect.words(size)
    with running(options.command, home) as daemon:
        for figure in itertools.chain(_alone(options, size, sought, daemon), _beside(options, size, sought, daemon)):
            show("")
            load.figures.append(figure)
            print(verdict.figure_row(size, figure), flush=True)
    return load


def fill(command: str, home: Path, size: int) -> None:
    with running(command, home) as daemon:
        for number, body in enumerate(dialect.imports(size)):
            show(f"filling: {number * 2000:,} of {size:,}")
            status, answer = ask(daemon.port, post("/import", body))
            if status != 200:
                sys.exit(f"POST /import was answered {status}: {answer[:200]!r}")
    show("")


def _starts(command: str, home: Path) -> Iterator[DaemonStart]:
    """The starts of the daemon; for ours, also as `engram serve` and `engram mcp`."""
    if command != OURS:
        yield _start_of("start", command, home)
        return
    yield _start_of("start of `anamnesis daemon`", command, home)
    link = home / "bin" / "engram"
    link.parent.mkdir()
    link.symlink_to(Path(sys.executable).with_name("anamnesis"))
    yield _start_of("start of `engram serve`", f"{shlex.quote(str(link))} serve {{port}}", home)
    yield _middle(
        "start of `engram mcp`", [start_mcp([link, "mcp"], environment(home, 0), home) for _ in range(_STARTS)]
    )


def _start_of(name: str, command: str, home: Path) -> DaemonStart:
    taken = []
    for _ in range(_STARTS):
        with running(command, home) as daemon:
            taken.append((daemon.accepted_ms, daemon.answered_ms, daemon.memory_mb()))
    return _middle(name, taken)


def start_mcp(command: Sequence[str | Path], variables: dict[str, str], folder: Path) -> tuple[float, float, float]:
    """The time until the tools are listed, and the memory then."""
    started = time.perf_counter()
    with subprocess.Popen(command, env=variables, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(dialect.HANDSHAKE)
        process.stdin.flush()
        for _ in range(2):  # initialize, tools/list
            if not process.stdout.readline():
                sys.exit(f"{shlex.join(map(str, command))} ended before it had listed its tools.")
        return float("nan"), (time.perf_counter() - started) * 1000, RunningDaemon(process, 0).memory_mb()


def _middle(name: str, taken: list[tuple[float, float, float]]) -> DaemonStart:
    return DaemonStart(name, *(statistics.median(each) for each in zip(*taken, strict=True)))


def _alone(options: argparse.Namespace, size: int, sought: dialect.Words, daemon: RunningDaemon) -> Iterator[Figure]:
    for name, requests in dialect.requests(size, sought).items():
        if any(wanted in name for wanted in options.only):
            for connections in options.connections:
                show(f"{size:,}: {name}, {connections} connections")
                spent = daemon.cpu_seconds()
                [measured] = drive(daemon.port, [(requests, connections)], options.seconds)
                each = (daemon.cpu_seconds() - spent) / len(measured.milliseconds) * 1e6
                yield _figure(name, connections, measured, daemon, each)


def _beside(options: argparse.Namespace, size: int, sought: dialect.Words, daemon: RunningDaemon) -> Iterator[Figure]:
    """The other routes' figures while two clients search for the common word."""
    for name in _BESIDE:
        if any(wanted in verdict.beside(name) for wanted in options.only):
            kinds = dialect.requests(size, sought)
            show(f"{size:,}: {verdict.beside(name)}")
            pair = [(kinds[name], 1), (kinds["GET /search, a common word"], 2)]
            measured, _ = drive(daemon.port, pair, options.seconds)
            yield _figure(verdict.beside(name), 1, measured, daemon)


def _figure(
    name: str, connections: int, measured: RequestTimes, daemon: RunningDaemon, cpu: float = math.nan
) -> Figure:
    p50, p99 = measured.percentile(50), measured.percentile(99)
    return Figure(name, connections, daemon.memory_mb(), measured.rate, p50, p99, measured.errors, cpu)


@contextlib.contextmanager
def running(command: str, home: Path, bridge: str = "off") -> Iterator[RunningDaemon]:
    """The daemon on a free port with its memory in `home`, with or without the bridge."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started = time.perf_counter()
    process = subprocess.Popen(
        shlex.split(command.format(port=port)),
        env=environment(home, port, bridge),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        accepted = _accepted(process, port) - started
        status, _ = ask(port, get("/health"))
        if status != 200:
            sys.exit(f"GET /health was answered {status}.")
        yield RunningDaemon(process, port, accepted * 1000, (time.perf_counter() - started) * 1000)
    finally:
        process.terminate()
        process.wait(60)


def environment(home: Path, port: int, bridge: str = "off") -> dict[str, str]:
    places = dict.fromkeys(("HOME", "ENGRAM_DATA_DIR", "ANAMNESIS_HOME"), str(home))
    return {**os.environ, **places, "ENGRAM_PORT": str(port), "ANAMNESIS_BRIDGE": bridge}


def _accepted(process: subprocess.Popen[bytes], port: int) -> float:
    while process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
            return time.perf_counter()
        time.sleep(0.002)
    sys.exit(f"The daemon ended with exit code {process.returncode}: {shlex.join(process.args)}")  # type: ignore[arg-type]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.load", description="Drives a daemon of Engram's dialect.")
    parser.add_argument("--command", default=OURS, help="how to start it; {port} is where it has to listen")
    parser.add_argument("--sizes", type=_numbers, default=[1_000, 50_000], help="observations: 1000,50000")
    parser.add_argument("--connections", type=_numbers, default=[1, 8, 32], help="1,8,32")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long each is measured (3)")
    parser.add_argument("--only", nargs="*", default=[""], help="only requests whose names have one of these")
    report.add_record_option(parser)
    return parser.parse_args()


def _numbers(text: str) -> list[int]:
    return [int(each) for each in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())
