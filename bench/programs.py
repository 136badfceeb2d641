"""The compared programs: installs each, and runs it on a copy of a store."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
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
    """A program could not be installed or run; the message has the reason and a remedy."""


@dataclass(frozen=True, slots=True)
class Program:
    name: str
    python: Path
    list_arguments: dict[str, int]


@dataclass(frozen=True, slots=True)
class StoreTimes:
    """The figures of one program on one store; `milliseconds` has the times of each operation."""

    version: str
    sqlite: str
    notes: int
    milliseconds: dict[str, list[float]]
    peak_mb: float
    problems: dict[str, str]  # by command, why it has no times

    def p50(self, operation: str) -> float:
        return statistics.median(self.milliseconds[operation])

    def p95(self, operation: str) -> float:
        return statistics.quantiles(self.milliseconds[operation], n=20, method="inclusive")[-1]


def this() -> Program:
    return Program("this", Path(sys.executable), {"limit": 50})


def earlier() -> Program:
    """The earlier implementation, in its own environment, which is created once."""
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


def measure(program: Program, size: int) -> StoreTimes:
    """Run the driver, then the command, on a copy of the store of this size."""
    label = f"{program.name}, {size:,} notes"
    show(f"{label}: copying the store")
    root = _WORK / "run" / f"{size}-{program.name}"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(_store(size), root)
    shutil.rmtree(_remote(root), ignore_errors=True)
    subprocess.run(["git", "init", "--quiet", "--bare", _remote(root)], check=True)
    # Otherwise the first timed fsync would wait for the copy to reach the disk.
    os.sync()
    try:
        result = _drive(program, root, label)
        if result["notes"] != size or not result["found"]:
            raise Failed(
                f"{label}: reindex found {result['notes']} notes and the searches {result['found']},"
                " so its figures would mean nothing."
            )
        commands, problems = _commands(program, root, label)
    finally:
        shutil.rmtree(root)
        shutil.rmtree(_remote(root), ignore_errors=True)
        show("")
    milliseconds = {**result["milliseconds"], **{f"anamnesis {name}": taken for name, taken in commands.items()}}
    return StoreTimes(result["version"], result["sqlite"], result["notes"], milliseconds, result["peak_mb"], problems)


def _store(size: int) -> Path:
    """The files of a store, created once."""
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
        "remote": _remote(root),
        "writes": [{name: getattr(note, name) for name in fields} for note in corpus.notes(WRITES, seed=13)],
        "queries": [query for mixed in zip(*lengths, strict=True) for query in mixed],
        "list": program.list_arguments,
    }
    # -I: neither PYTHONPATH nor the current folder can replace one program by the other.
    command = [str(program.python), "-I", str(Path(__file__).with_name("driver.py"))]
    done = subprocess.run(command, input=json.dumps(job), stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise Failed(f"{label}: the driver ended with {done.returncode}; its message is above.")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def _commands(program: Program, root: Path, label: str) -> tuple[dict[str, list[float]], dict[str, str]]:
    """The times of each command from start to exit, or why there are none."""
    # An installed program has bytecode; a checkout has it only after a run that may write it.
    bytecode = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(_WORK / "bytecode")}
    environment = {**os.environ, **bytecode, "ANAMNESIS_HOME": str(root), "ANAMNESIS_GIT_REMOTE": _remote(root)}
    environment["CLAUDE_CONFIG_DIR"] = str(root.with_name("nobody"))
    queries = corpus.queries(COLD_STARTS, words=4, seed=17)
    event = {"session_id": "", "cwd": str(root), "transcript_path": str(_transcript(root)), "source": "startup"}
    wanted = {
        "search": [(["search", query, "--json"], "") for query in queries],
        "inject": [(["inject", "--project", "github.com/acme/project-1"], json.dumps(event))] * COLD_STARTS,
        "recall": [(["recall"], json.dumps({**event, "prompt": query})) for query in queries],
        "capture": [(["capture", "--no-sync"], json.dumps(event))] * COLD_STARTS,
        "sync": [(["sync"], "")] * COLD_STARTS,
    }
    taken: dict[str, list[float]] = {}
    problems = {}
    for name, calls in wanted.items():
        show(f"{label}: anamnesis {name}")
        runs = [
            partial(_run, [str(program.python.with_name("anamnesis")), *words], stdin, environment)
            for words, stdin in calls
        ]
        # A command that fails or finds nothing would look fast.
        if _works(name, runs[0]()):
            taken[name] = _within(runs, seconds=20)
        else:
            problems[name] = f"The {program.name} implementation has no working `anamnesis {name}`."
    return taken, problems


def _within(runs: Sequence[Callable[[], object]], seconds: float) -> list[float]:
    """The times of the runs that start within `seconds`, at least one."""
    end = time.perf_counter() + seconds
    return [timed(run) for number, run in enumerate(runs) if not number or time.perf_counter() < end]


def _remote(root: Path) -> str:
    return str(root.with_suffix(".git"))


def _transcript(root: Path) -> Path:
    """A transcript of a few hundred lines."""
    path = root.with_suffix(".jsonl")
    facts = {"sessionId": "bench", "cwd": str(root), "timestamp": "2026-08-01T10:00:00.000Z"}
    edit = {"type": "tool_use", "id": "t", "name": "Edit", "input": {"file_path": "a.py"}}
    turns = [("user", text) for text in corpus.queries(100, words=12)]
    lines = [{**facts, "type": role, "message": {"role": role, "content": text}} for role, text in turns]
    answer = {"role": "assistant", "content": [edit, {"type": "text", "text": corpus.queries(1, words=200)[0]}]}
    lines += [{**facts, "type": "assistant", "message": answer}] * 200
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def _run(command: list[str], stdin: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, input=stdin, env=environment, capture_output=True, text=True)


def _works(name: str, done: subprocess.CompletedProcess[str]) -> bool:
    if done.returncode or name == "inject":
        return done.returncode == 0 and bool(done.stdout)
    try:
        return name != "search" or bool(json.loads(done.stdout))
    except ValueError:
        return False


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1]
