"""The programs that are compared: where each is installed, and how it is run on a copy of a store."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench import corpus
from bench.driver import show, timed

EARLIER = "anamnesis-memory<1"
WRITES = 200
QUERIES_OF_EACH_LENGTH = 50
COLD_STARTS = 10

_WORK = Path(__file__).parent.parent / ".bench"


class Failed(Exception):
    """A program could not be installed or run; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Program:
    name: str
    python: Path
    list_arguments: dict[str, int]


@dataclass(frozen=True, slots=True)
class Measured:
    """What one program took on one store. `milliseconds` has the times of every operation that it has."""

    version: str
    sqlite: str
    notes: int
    milliseconds: dict[str, list[float]]
    peak_mb: float
    cold_start_problem: str = ""

    def p50(self, operation: str) -> float:
        return statistics.median(self.milliseconds[operation])

    def p95(self, operation: str) -> float:
        return statistics.quantiles(self.milliseconds[operation], n=20, method="inclusive")[-1]


def this() -> Program:
    return Program("this", Path(sys.executable), {"limit": 50})


def earlier() -> Program:
    """The earlier implementation, in an environment of its own that is made once."""
    home = _WORK / "earlier"
    program = Program("earlier", home / "bin" / "python", {})
    made_for = home / ".installed"
    if made_for.exists() and made_for.read_text() == EARLIER:
        return program
    show(f"installing {EARLIER}")
    if uv := shutil.which("uv"):
        steps = [
            [uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(home)],
            [uv, "pip", "install", "--quiet", "--python", str(program.python), EARLIER],
        ]
    else:
        pip = [str(program.python), "-m", "pip", "--quiet", "--disable-pip-version-check"]
        steps = [[sys.executable, "-m", "venv", "--clear", str(home)], [*pip, "install", EARLIER]]
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True)
        if done.returncode:
            raise Failed(
                f"{EARLIER} could not be installed: {_last_line(done.stderr)}\n"
                "Measure this version alone with --skip-earlier-above 0."
            )
    made_for.write_text(EARLIER)
    return program


def measure(program: Program, size: int) -> Measured:
    """Run the driver, then the command, on a copy of the store of this size."""
    label = f"{program.name}, {size:,} notes"
    show(f"{label}: copying the store")
    root = _WORK / "run" / f"{size}-{program.name}"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(_store(size), root)
    # Else the first fsync that is timed waits for the copy to reach the disk.
    os.sync()
    try:
        result = _drive(program, root, label)
        if result["notes"] != size or not result["found"]:
            raise Failed(
                f"{label}: reindex found {result['notes']} notes and the searches {result['found']},"
                " so its figures would mean nothing."
            )
        milliseconds = result["milliseconds"]
        milliseconds["cold start"], problem = _cold_starts(program, root, label)
    finally:
        shutil.rmtree(root)
        show("")
    return Measured(result["version"], result["sqlite"], result["notes"], milliseconds, result["peak_mb"], problem)


def _store(size: int) -> Path:
    """The files of a store, made once."""
    root = _WORK / "stores" / str(size)
    if not root.exists():
        show(f"writing {size:,} notes")
        unfinished = root.with_name(f"{size}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        corpus.write_store(unfinished, size)
        unfinished.rename(root)
    return root


def _drive(program: Program, root: Path, label: str) -> dict[str, Any]:
    lengths = [corpus.queries(QUERIES_OF_EACH_LENGTH, words, seed=words) for words in (3, 4, 5)]
    fields = ("type", "title", "body", "project", "machine_id", "tags")
    job = {
        "label": label,
        "root": str(root),
        "writes": [{name: getattr(note, name) for name in fields} for note in corpus.notes(WRITES, seed=13)],
        "queries": [query for mixed in zip(*lengths, strict=True) for query in mixed],
        "list": program.list_arguments,
    }
    # -I: neither PYTHONPATH nor the current folder may put one program in the place of the other.
    command = [str(program.python), "-I", str(Path(__file__).with_name("driver.py"))]
    done = subprocess.run(command, input=json.dumps(job), stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise Failed(f"{label}: the driver ended with {done.returncode}; its message is above.")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def _cold_starts(program: Program, root: Path, label: str) -> tuple[list[float], str]:
    """How long `anamnesis search` takes as a command, or why that is not known."""
    show(f"{label}: cold start")
    # An installed program has its bytecode; a checkout has it only from a run that was allowed to write it.
    bytecode = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(_WORK / "bytecode")}
    environment = {**os.environ, **bytecode, "ANAMNESIS_HOME": str(root)}
    command = str(program.python.with_name("anamnesis"))
    searches = [
        partial(_run, [command, "search", query, "--json"], environment)
        for query in corpus.queries(COLD_STARTS, words=4, seed=17)
    ]
    # A command that fails or finds nothing is fast, too.
    if not all(_finds_notes(search()) for search in searches):
        return [], f"The {program.name} implementation has no working `anamnesis search QUERY --json`."
    return [timed(search) for search in searches], ""


def _run(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def _finds_notes(done: subprocess.CompletedProcess[str]) -> bool:
    try:
        return done.returncode == 0 and bool(json.loads(done.stdout))
    except ValueError:
        return False


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1]
