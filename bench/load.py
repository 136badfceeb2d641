"""`python -m bench.load`: drives any daemon that speaks Engram's dialect, this one or Engram itself.

python -m bench.load
python -m bench.load --command 'engram serve {port}' --sizes 1000
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench import dialect
from bench.client import Measured, ask, drive, get, post
from bench.driver import show

_OURS = f"{shlex.quote(str(Path(sys.executable).with_name('anamnesis')))} daemon --port {{port}}"
_BESIDE = ("GET /health", "GET /observations/{id}", "GET /context", "GET /observations/recent", "POST /observations")
_STARTS = 5


@dataclass(frozen=True, slots=True)
class Started:
    """A daemon that runs, and how long it took from its start to its first connection and to its first answer."""

    process: subprocess.Popen[bytes]
    port: int
    accepted_ms: float
    answered_ms: float

    def memory_mb(self) -> float:
        return self._read("statm", 1) * os.sysconf("SC_PAGE_SIZE") / 2**20

    def cpu_seconds(self) -> float:
        return (self._read("stat", 13) + self._read("stat", 14)) / os.sysconf("SC_CLK_TCK")

    def _read(self, name: str, column: int) -> float:
        """A number that the system keeps of the process, where it shows it in a file."""
        try:
            return int(Path(f"/proc/{self.process.pid}/{name}").read_text().split()[column])
        except FileNotFoundError:
            return float("nan")


def main() -> int:
    options = _options()
    print("| observations | request | connections | requests/s | p50 ms | p99 ms | errors | CPU µs each | memory MB |")
    print("|---|---|---|---|---|---|---|---|---|")
    for size in options.sizes:
        with tempfile.TemporaryDirectory() as home:
            _measure(options, Path(home), size)
    return 0


def _measure(options: argparse.Namespace, home: Path, size: int) -> None:
    with running(options.command, home) as daemon:
        for number, body in enumerate(dialect.imports(size)):
            show(f"filling: {number * 2000:,} of {size:,}")
            status, answer = ask(daemon.port, post("/import", body))
            if status != 200:
                sys.exit(f"POST /import was answered {status}: {answer[:200]!r}")
    starts = []
    for _ in range(_STARTS):
        with running(options.command, home) as daemon:
            starts.append((daemon.accepted_ms, daemon.answered_ms))
    sought = dialect.words(size)
    with running(options.command, home) as daemon:
        accepted, answered = (sorted(each)[_STARTS // 2] for each in zip(*starts, strict=True))
        print(
            f"| {size:,} | start: accepts after {accepted:.0f} ms, answers after {answered:.0f} ms | | | | | | | ",
            end="",
        )
        print(f"{daemon.memory_mb():.0f} |", flush=True)
        for name, requests in dialect.requests(size, sought).items():
            if not any(wanted in name for wanted in options.only):
                continue
            for connections in options.connections:
                show(f"{size:,}: {name}, {connections} connections")
                spent = daemon.cpu_seconds()
                [measured] = drive(daemon.port, [(requests, connections)], options.seconds)
                each = (daemon.cpu_seconds() - spent) / len(measured.milliseconds) * 1e6
                _row(size, name, connections, measured, f"{each:.0f}", daemon)
        if any(wanted in "beside" for wanted in options.only):
            _measure_beside(options, size, sought, daemon)


def _measure_beside(options: argparse.Namespace, size: int, sought: dialect.Words, daemon: Started) -> None:
    """How the other routes answer while two clients search for the common word."""
    for name in _BESIDE:
        kinds = dialect.requests(size, sought)
        show(f"{size:,}: {name} beside searches")
        pair = [(kinds[name], 1), (kinds["GET /search, a common word"], 2)]
        beside, _ = drive(daemon.port, pair, options.seconds)
        _row(size, f"{name} beside searches for a common word", 1, beside, "", daemon)


def _row(size: int, name: str, connections: int, measured: Measured, cpu: str, daemon: Started) -> None:
    show("")
    memory = daemon.memory_mb()
    times = f"{measured.rate:,.0f} | {measured.percentile(50):.2f} | {measured.percentile(99):.2f}"
    print(f"| {size:,} | {name} | {connections} | {times} | {measured.errors} | {cpu} | {memory:.0f} |", flush=True)


@contextlib.contextmanager
def running(command: str, home: Path) -> Iterator[Started]:
    """The daemon on a free port, with its memory in `home`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    variables = {"HOME": str(home), "ENGRAM_DATA_DIR": str(home), "ANAMNESIS_HOME": str(home), "ENGRAM_PORT": str(port)}
    started = time.perf_counter()
    process = subprocess.Popen(
        shlex.split(command.format(port=port)),
        env={**os.environ, **variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        accepted = _accepted(process, port) - started
        status, _ = ask(port, get("/health"))
        if status != 200:
            sys.exit(f"GET /health was answered {status}.")
        yield Started(process, port, accepted * 1000, (time.perf_counter() - started) * 1000)
    finally:
        process.terminate()
        process.wait(60)


def _accepted(process: subprocess.Popen[bytes], port: int) -> float:
    while process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
            return time.perf_counter()
        time.sleep(0.002)
    sys.exit(f"The daemon ended with exit code {process.returncode}: {shlex.join(process.args)}")  # type: ignore[arg-type]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.load", description="Drives a daemon of Engram's dialect.")
    parser.add_argument("--command", default=_OURS, help="how to start it; {port} is where it has to listen")
    parser.add_argument("--sizes", type=_numbers, default=[1_000, 50_000], help="observations: 1000,50000")
    parser.add_argument("--connections", type=_numbers, default=[1, 8, 32], help="1,8,32")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long each is measured (3)")
    parser.add_argument("--only", nargs="*", default=[""], help="only requests whose names have one of these")
    return parser.parse_args()


def _numbers(text: str) -> list[int]:
    return [int(each) for each in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())
