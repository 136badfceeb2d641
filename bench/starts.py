"""`python -m bench.starts`: start times of commands for agents, relative to a Python that imports json and sqlite3."""

from __future__ import annotations

import argparse
import functools
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench import corpus, report
from bench.driver import show
from bench.load import start_mcp
from bench.verdict import head, line

HEADING = "# Starts"
_PROGRAM = Path(sys.executable).with_name("anamnesis")
_METHOD = """\
*Times* is the median divided by the median of `python -c "import json, sqlite3"`, which is started in turn with the
commands by the same interpreter. A server is timed until it has answered `initialize` and `tools/list`; *memory* is
what it then holds. `recall` is timed until it exits: in a git repository with an origin, in a new session, with a
prompt of four words. A new home is an empty folder for each start; *with twins*, `engram.db` has an observation for
each note."""


@dataclass(frozen=True, slots=True)
class StartTime:
    """Milliseconds from the call to the answer, and the memory of a server then, in MB."""

    milliseconds: float
    memory: float = math.nan


@dataclass(frozen=True, slots=True)
class Case:
    """A command in a home (a new one if None), and its maximum time, in starts of a plain Python."""

    command: str
    name: str
    home: Path | None
    start: Callable[[Path], StartTime]
    most: float | None = None


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        table = "\n".join(_table(Path(folder), options.size, options.starts))
    print(table)
    if options.record:
        report.record_part(options.record, HEADING, "bench.starts", table, _METHOD)
    return 0


def _table(folder: Path, size: int, starts: int) -> Iterator[str]:
    cases = [Case("`python`", "", folder, functools.partial(_run, [sys.executable, "-c", "import json, sqlite3"]))]
    cases += _cases(folder, size)
    taken = _in_turn(cases, starts, folder)
    plain = statistics.median(start.milliseconds for start in taken[0])
    yield head("command", "home", "best", "median", "times", "wanted", "met", "memory")
    for case, found in zip(cases, taken, strict=True):
        times = [start.milliseconds for start in found]
        ratio = statistics.median(times) / plain
        memory = statistics.median(start.memory for start in found)
        yield line(
            case.command,
            case.name,
            f"{min(times):.0f} ms",
            f"{statistics.median(times):.0f} ms",
            f"{ratio:.2f}",
            f"≤ {case.most:g}" if case.most else "",
            ("yes" if ratio <= case.most else "NO") if case.most else "",
            "" if math.isnan(memory) else f"{memory:.1f} MB",
        )


def _cases(folder: Path, size: int) -> Iterator[Case]:
    plain, twins, work = folder / "notes", folder / "twins", folder / "work"
    for home in (plain, twins):
        show(f"writing {size:,} notes")
        corpus.write_store(home, size)
    show("indexing them")
    subprocess.run([_PROGRAM, "status"], env=_environment(plain), check=True, capture_output=True)
    without = {**_environment(twins), "ANAMNESIS_BRIDGE": "off"}  # otherwise it starts its own reconciliation
    subprocess.run([_PROGRAM, "engram", "stats"], env=without, check=True, capture_output=True)
    subprocess.run([_PROGRAM, "bridge", "reconcile"], env=_environment(twins), check=True, capture_output=True)
    subprocess.run(["git", "init", "--quiet", work], check=True)
    origin = "https://github.com/acme/project-1.git"
    subprocess.run(["git", "-C", work, "remote", "add", "origin", origin], check=True)
    homes: dict[str, Path | None] = {"new": None, f"{size:,} notes": plain, f"{size:,} notes with twins": twins}
    for name, given in homes.items():
        for words in ("serve", "engram mcp"):
            yield Case(f"`anamnesis {words}`", name, given, functools.partial(_serve, words.split(), work), 4)
        yield Case("`anamnesis recall`", name, given, functools.partial(_recall, work), 3)


def _in_turn(cases: list[Case], starts: int, folder: Path) -> list[list[StartTime]]:
    """Start all cases in turn, `starts` times, after a first round that is not counted."""
    taken: list[list[StartTime]] = [[] for _ in cases]
    for number in range(starts + 1):
        show(f"start {number} of {starts}")
        for case, found in zip(cases, taken, strict=True):
            start = case.start(case.home or Path(tempfile.mkdtemp(dir=folder)))
            if number:
                found.append(start)
    show("")
    return taken


def _serve(words: list[str], work: Path, home: Path) -> StartTime:
    _, taken, memory = start_mcp([_PROGRAM, *words], _environment(home), work)
    return StartTime(taken, memory)


def _recall(work: Path, home: Path) -> StartTime:
    [query] = corpus.queries(1, words=4, seed=17)
    event = {"session_id": uuid.uuid4().hex, "cwd": str(work), "hook_event_name": "UserPromptSubmit", "prompt": query}
    return _run([str(_PROGRAM), "recall"], home, json.dumps(event).encode())


def _run(command: list[str], home: Path, given: bytes = b"") -> StartTime:
    started = time.perf_counter()
    subprocess.run(command, env=_environment(home), cwd=home, input=given, stdout=subprocess.DEVNULL, check=True)
    return StartTime((time.perf_counter() - started) * 1000)


def _environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANAMNESIS_", "ENGRAM_"))}
    # An installed program has bytecode; a checkout has it only after a run that may write it.
    return {**kept, "PYTHONDONTWRITEBYTECODE": "", "HOME": str(home), "ANAMNESIS_HOME": str(home)}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.starts", description="Measures starts.")
    parser.add_argument("--size", type=int, default=50_000, help="notes in the existing homes (50000)")
    parser.add_argument("--starts", type=int, default=20, help="how often each command is started (20)")
    report.add_record_option(parser)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
