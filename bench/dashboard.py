"""`python -m bench.dashboard`: time to first byte of the dashboard's pages at 50,000 notes, and its cost."""

from __future__ import annotations

import argparse
import gzip
import http.client
import json
import re
import shlex
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote_plus

from anamnesis.store import MemoryStore
from anamnesis.store.meaning import Meaning
from bench import corpus, meaning, report
from bench.client import ask, post
from bench.driver import show
from bench.load import OURS, RunningDaemon, running
from bench.verdict import head, line

HEADING = "# The dashboard"
_FIRST_BYTE_MS = 40
_VISIT_KB = 150
_START_MS, _START_MB, _VISIT_MB = 2, 1, 30
# Time for a daemon to open its notes, or to load its model for the first search.
_SETTLED_SECONDS = 3.0
_STEADY_MB, _MOST_LOOKS = 0.5, 20
# The daemon as its command starts it, and one whose dashboard module is replaced by an empty mount.
_WITH = """\
import sys
from anamnesis.entry import main
sys.argv = ["anamnesis", "daemon", "--port", "{port}"]
main()
"""
_WITHOUT = (
    """\
import sys, types
from anamnesis.web.mount import Mount
from anamnesis.web.route import BodyLimit
stub = types.ModuleType("anamnesis.web.ui.mounted")
stub.dashboard = lambda *_: Mount("/none", lambda: None, BodyLimit(1))
sys.modules["anamnesis.web.ui.mounted"] = stub
"""
    + _WITH
)
_METHOD = """\
Notes of 120 made-up words, with random vectors in the shape of real ones. *First byte*: from the request to the first
byte of the whole page, on a connection of its own; *CPU* is the daemon's time for it, with that of the write. *After a
write*: an agent writes a note before each request, so that nothing is true any more that was counted before. *Search*:
three words, others each time.
*First visit*: home, the list of notes with its facets, a note, and what they load. *Without*: a daemon that does not
mount the dashboard; both are started in turn, in an empty home."""


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        ids = _fill(home, options.size)
        rows = [head(f"at {options.size:,} notes", "wanted", "measured", "met", "CPU")]
        with running(OURS, home) as daemon:
            rows += _pages(daemon, ids, options.requests)
        rows += _costs(home, ids[-1], options.starts)
    show("")
    table = "\n".join(rows)
    print(table)
    if options.record:
        report.record_part(options.record, HEADING, "bench.dashboard", table, _METHOD)
    return 0


def _fill(home: Path, size: int) -> list[str]:
    show(f"writing {size:,} notes")
    corpus.write_store(home, size)
    show("indexing and embedding")
    with MemoryStore(home) as store:
        store.refresh()
        with closing(Meaning(store._index, store.log, home / "vectors.db", meaning._model)) as vectors:
            vectors.follow()
        return [note.id for note in store.list(limit=200)]


def _pages(daemon: RunningDaemon, ids: list[str], count: int) -> Iterator[str]:
    """The median of each page, warm and after a write; the first request of each is not counted."""
    queries = [query for seed in (3, 5) for query in corpus.queries(count, words=3, seed=seed)]
    notes = [f"/ui/notes/{id}" for id in ids[:count]]
    pages = {
        "home": ["/ui/"] * count,
        "notes": ["/ui/notes"] * count,
        "notes of a project": [f"/ui/notes?project=github.com/acme/project-{number % 20}" for number in range(count)],
        "a search": [f"/ui/notes?q={quote_plus(query)}" for query in queries[:count]],
        "a note": notes,
    }
    for paths in pages.values():
        _first_byte(daemon.port, paths[0])
    time.sleep(_SETTLED_SECONDS)
    for name, paths in pages.items():
        for what in ("warm", "after a write"):
            show(f"{name}, {what}")
            taken, spent = [], daemon.cpu_seconds()
            for number, path in enumerate(paths):
                if what != "warm":
                    _write(daemon.port, number)
                taken.append(_first_byte(daemon.port, path)[0])
            cpu = f"{(daemon.cpu_seconds() - spent) / count * 1000:.0f} ms"
            yield _row(f"first byte of {name}, {what}, p50", statistics.median(taken), _FIRST_BYTE_MS, "ms", cpu)


def _costs(home: Path, note: str, starts: int) -> Iterator[str]:
    """The bytes of a first visit, and what the dashboard adds to the start and the memory of a daemon."""
    with running(OURS, home) as daemon:
        before = _settled_mb(daemon)
        transferred = _visit(daemon.port, note)
        visited = daemon.memory_mb() - before
    yield _row("a first visit, gzipped", transferred / 1000, _VISIT_KB, "kB")
    yield _row("memory that it adds", visited, _VISIT_MB, "MB")
    taken: dict[str, list[tuple[float, float]]] = {_WITHOUT: [], _WITH: []}
    with tempfile.TemporaryDirectory() as empty:
        for number in range(starts):
            show(f"start {number + 1} of {starts}")
            # In alternating order, because the first one reads files into the cache.
            for script, found in (*taken.items(),)[:: (-1) ** number]:
                with running(shlex.join([sys.executable, "-c", script]), Path(empty)) as daemon:
                    found.append((daemon.answered_ms, daemon.memory_mb()))
    without, with_it = ([statistics.median(each) for each in zip(*found, strict=True)] for found in taken.values())
    yield _row("a start, more than without it", with_it[0] - without[0], _START_MS, "ms")
    yield _row("memory after a start, more than without it", with_it[1] - without[1], _START_MB, "MB")


def _settled_mb(daemon: RunningDaemon) -> float:
    """The memory of a daemon once it is stable, after it has opened its notes."""
    for _ in range(_MOST_LOOKS):
        before = daemon.memory_mb()
        time.sleep(_SETTLED_SECONDS)
        if abs(daemon.memory_mb() - before) < _STEADY_MB:
            break
    return daemon.memory_mb()


def _visit(port: int, note: str) -> int:
    """The bytes of the first pages of a visit, and of the files they load, each once."""
    pages = ["/ui/", "/ui/notes", "/ui/notes/facets", f"/ui/notes/{note}"]
    found = {path: _first_byte(port, path)[1] for path in pages}
    loaded = {path for page in found.values() for path in re.findall(r'"(/ui/static/[^"]+)"', page.decode())}
    files = {path: _first_byte(port, path)[1] for path in loaded}
    return sum(len(gzip.compress(body)) for body in (*found.values(), *files.values()))


def _first_byte(port: int, path: str) -> tuple[float, bytes]:
    """Milliseconds from a request to the first byte of its answer, and the answer."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=600)) as connection:
        connection.connect()
        started = time.perf_counter()
        connection.request("GET", path, headers={"Accept": "text/html", "Accept-Encoding": "gzip"})
        response = connection.getresponse()
        taken = (time.perf_counter() - started) * 1000
        body = response.read()
        if response.status != 200:
            sys.exit(f"GET {path} was answered {response.status}.")
        return taken, gzip.decompress(body) if response.headers["Content-Encoding"] == "gzip" else body


def _write(port: int, number: int) -> None:
    """Write a note as an agent does."""
    note = {"type": "semantic", "title": f"Note {number}", "body": f"What was learned {number}.", "project": "bench"}
    call = {"name": "memory_write", "arguments": note}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    status, answer = ask(port, post("/mcp", json.dumps(message).encode()))
    if status != 200 or json.loads(answer)["result"].get("isError"):
        sys.exit(f"memory_write was answered {status}: {answer.decode()}")


def _row(what: str, measured: float, most: float, unit: str, cpu: str = "") -> str:
    return line(what, f"≤ {most} {unit}", f"{measured:.1f} {unit}", "yes" if measured <= most else "NO", cpu)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.dashboard", description=__doc__)
    parser.add_argument("--size", type=int, default=50_000, help="notes (50000)")
    parser.add_argument("--requests", type=int, default=30, help="how often each page is asked for (30)")
    parser.add_argument("--starts", type=int, default=20, help="how often each daemon is started (20)")
    report.add_record_option(parser)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
