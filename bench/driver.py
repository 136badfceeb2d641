"""Times one program's store: a job as JSON on stdin, one line of JSON on stdout.

Runs in the environment of that program, so it uses only what both programs have and imports nothing of bench.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import resource
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from anamnesis.store import MemoryStore


def main() -> None:
    job = json.load(sys.stdin)
    root = Path(job["root"])
    milliseconds: dict[str, list[float]] = {}
    notes: list[int] = []
    found: list[int] = []

    def search(store: MemoryStore, query: str) -> None:
        found.append(len(store.search(query, k=8)))

    # The writes come before the searches: a lived-in index has more segments than a fresh one.
    stages: list[tuple[str, Callable[[MemoryStore], list[float]]]] = [
        ("reindex", lambda store: repeated(lambda: notes.append(store.reindex()), times=5, seconds=10)),
        ("write", lambda store: each(partial(store.write, **note) for note in job["writes"])),
        ("search", lambda store: each(partial(search, store, query) for query in job["queries"])),
        ("list", lambda store: repeated(partial(store.list, **job["list"]), times=50, seconds=10)),
        ("open", lambda _: repeated(lambda: MemoryStore(root).close(), times=50, seconds=10)),
    ]
    for name, measure in stages:
        show(f"{job['label']}: {name}")
        # Each stage opens the store anew, so that none finds SQLite's page cache warmed by the one before.
        with contextlib.closing(MemoryStore(root)) as store:
            milliseconds[name] = measure(store)
    show("")
    result = {
        "version": importlib.metadata.version("anamnesis-memory"),
        "sqlite": sqlite3.sqlite_version,
        "notes": notes[-1],
        "found": sum(found),
        "milliseconds": milliseconds,
        "peak_mb": peak_mb(),
    }
    print(json.dumps(result))


def each(calls: Iterable[Callable[[], Any]]) -> list[float]:
    """How long each call takes, made once."""
    return [timed(call) for call in calls]


def repeated(call: Callable[[], Any], *, times: int, seconds: float) -> list[float]:
    """How long the call takes, made so often or until the time is up, at least once."""
    end = time.perf_counter() + seconds
    taken = [timed(call)]
    while len(taken) < times and time.perf_counter() < end:
        taken.append(timed(call))
    return taken


def timed(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1000


def peak_mb() -> float:
    """The most memory this process had, in MiB."""
    # ru_maxrss on Linux counts what the parent had before exec, too; VmHWM does not.
    with contextlib.suppress(FileNotFoundError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 1024


def show(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
