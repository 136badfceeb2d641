"""Times one program's store: reads a job as JSON from stdin, prints one line of JSON.

Runs in that program's environment, so it uses only what both programs have and imports nothing of bench.
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

from anamnesis import sync
from anamnesis.store import MemoryStore

# A sync of the earlier program rebuilds its index: half a minute at 10,000 notes.
_SYNCS = 2 if not hasattr(sync, "sync_store") else 10


def main() -> None:
    job = json.load(sys.stdin)
    root, remote = Path(job["root"]), job["remote"]
    milliseconds: dict[str, list[float]] = {}
    notes: list[int] = []
    found: list[int] = []

    def search(store: MemoryStore, query: str) -> None:
        found.append(len(store.search(query, k=8, mode="words")))

    # Writes come before searches: a used index has more segments than a new one.
    stages: list[tuple[str, Callable[[MemoryStore], list[float]]]] = [
        ("reindex", lambda store: repeated(lambda: notes.append(store.reindex()), times=5, seconds=10)),
        ("write", lambda store: each(partial(store.write, **note) for note in job["writes"])),
        ("search", lambda store: each(partial(search, store, query) for query in job["queries"])),
        ("list", lambda store: repeated(partial(store.list, **job["list"]), times=50, seconds=10)),
        ("open", lambda _: repeated(lambda: MemoryStore(root).close(), times=50, seconds=10)),
        ("first sync", lambda store: [timed(partial(synced, store, remote))]),
        ("idle sync", lambda store: repeated(partial(synced, store, remote), times=20, seconds=10)),
        ("sync of one", lambda store: [changed_and_synced(store, remote, note) for note in job["writes"][:_SYNCS]]),
    ]
    for name, measure in stages:
        show(f"{job['label']}: {name}")
        # Each stage opens the store again, so that no stage finds a warm SQLite page cache.
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


def synced(store: MemoryStore, remote: str) -> None:
    """Sync and update the index, as the program's own command does."""
    backend = sync.GitSyncBackend(store.memory_dir, remote=remote, machine_id="bench")
    if hasattr(sync, "sync_store"):
        sync.sync_store(store, backend)
    else:
        backend.sync()
        store.reindex()


def changed_and_synced(store: MemoryStore, remote: str, note: dict[str, Any]) -> float:
    """How long a sync takes after one note was written."""
    store.write(**note)
    return timed(partial(synced, store, remote))


def each(calls: Iterable[Callable[[], Any]]) -> list[float]:
    """The time of each call."""
    return [timed(call) for call in calls]


def repeated(call: Callable[[], Any], *, times: int, seconds: float) -> list[float]:
    """The times of up to `times` calls within `seconds`, at least one."""
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
    """The peak memory of this process, in MiB."""
    # On Linux, ru_maxrss includes the parent's memory before exec; VmHWM does not.
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
