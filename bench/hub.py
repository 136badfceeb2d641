"""`python -m bench.hub`: what a hub takes for a search, a sync and changes, with 1,000,000 notes in 200 spaces."""

from __future__ import annotations

import argparse
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote_plus

from tests.hub.running import Client, RunningHub, text_of

from anamnesis.hub.database import administrator
from anamnesis.notes import ulid
from bench import corpus, report
from bench.driver import show
from bench.hub_planting import Planted, plant, plant_vectors
from bench.verdict import head, line

HEADING = "# The hub"
_METHOD = """\
One hub with one connection to a PostgreSQL 18 on the same machine (2 GB of shared buffers, fsync on), asked over HTTP
from one thread. Notes have 120 words; the spaces' sizes are as 1/r. *CPU* is the mean time of the hub, its client and
PostgreSQL for a request: where others use the machine, it says more than the clock."""
_SEARCH_MS, _SEARCH_P99_MS, _IDLE_MS, _CHANGE_MS, _CHANGES_A_SECOND = 15, 60, 5, 15, 500
_BATCH = 100


class Took(NamedTuple):
    """What requests of one kind took, in milliseconds."""

    p50: float
    p99: float
    cpu: float


def main() -> int:
    options = _options()
    planted = plant(options.notes, options.spaces, options.keep)
    table = "\n".join(measured(planted, options.requests))
    show("")
    print(table)
    if options.record:
        report.record_part(options.record, HEADING, "bench.hub", table, _METHOD)
    return 0


def measured(planted: Planted, requests: int) -> Iterator[str]:
    """The rows of the table."""
    names = [*planted.sizes]
    yield head(f"{sum(planted.sizes.values()):,} notes in {len(names)} spaces", "wanted", "p50", "p99", "CPU", "met")
    middle = names[len(names) // 2]
    cpus = {}
    with _running(planted, connections=1) as running:
        for name in (names[0], middle, names[-1]):
            took = _took(running, "searching", _searching(Client(running.url, planted.tokens[name]), requests))
            cpus[name] = took.cpu
            is_met = took.p50 <= _SEARCH_MS and took.p99 <= _SEARCH_P99_MS
            yield _row(
                f"search, space of {planted.sizes[name]:,}", f"≤ {_SEARCH_MS}, {_SEARCH_P99_MS} ms", took, is_met
            )
        for name in (names[0], middle):
            client = Client(running.url, planted.tokens[name])
            took = _took(running, "syncing", _syncing(client, requests))
            wanted = f"≤ {_IDLE_MS} ms"
            yield _row(f"sync with nothing to do, space of {planted.sizes[name]:,}", wanted, took, took.p50 <= _IDLE_MS)
            took = _took(running, "changing", _changing(client, name, requests))
            wanted = f"≤ {_CHANGE_MS} ms"
            yield _row(f"one change, space of {planted.sizes[name]:,}", wanted, took, took.p50 <= _CHANGE_MS)
    with _running(planted, connections=4) as running:
        show("accepting changes")
        rate = _accepted(running, planted, max(5, requests // 20))
        is_met = rate >= _CHANGES_A_SECOND
        yield line(
            f"changes a second, {_BATCH} at once", f"≥ {_CHANGES_A_SECOND}", f"{rate:,.0f}", "", "", _met(is_met)
        )
    yield from _flat(planted, middle, cpus[middle], requests)
    yield from _by_meaning(planted, [names[0], names[1], middle, names[-1]], requests)


def _by_meaning(planted: Planted, names: list[str], requests: int) -> Iterator[str]:
    """Searches by words and meaning, by the index in the largest space, and by comparing all passages in others."""
    plant_vectors(planted, names)
    with _running(planted, connections=1) as running:
        for name, what, filters in (
            (names[0], "", ""),
            (names[0], ", of a project", "&project=github.com/acme/project-3"),
            (names[-2], "", ""),
            (names[-1], "", ""),
        ):
            client = Client(running.url, planted.tokens[name])
            took = _took(running, "searching by meaning", _searching(client, requests, f"&mode=fused{filters}"))
            yield _row(f"search by words and meaning{what}, space of {planted.sizes[name]:,}", "", took, None)


@contextmanager
def _running(planted: Planted, connections: int) -> Iterator[RunningHub]:
    """A hub that limits nobody."""
    with RunningHub(planted.url, connections) as running:
        running.hub.limits.token.rate = running.hub.limits.address.rate = 1e9
        yield running


def _flat(planted: Planted, name: str, cpu: float, requests: int) -> Iterator[str]:
    """A space of the same size in a hub with hardly any other."""
    size = planted.sizes[name]
    alone = plant(round(size * 1.5), 2)
    with _running(alone, connections=1) as running:
        took = _took(running, "searching", _searching(Client(running.url, alone.tokens["space-1"]), requests))
    alone.postgres.remove()
    ratio = cpu / took.cpu
    yield line(
        f"search, space of {size:,}: CPU beside all others", "≤ 1.5 ×", f"{ratio:.2f} ×", "", "", _met(ratio <= 1.5)
    )


def _searching(client: Client, requests: int, options: str = "&mode=words") -> Iterator[Callable[[], None]]:
    for query in corpus.queries(requests + 20, 5):
        yield partial(_ask, client, f"/v1/search?q={quote_plus(query)}{options}")


def _syncing(client: Client, requests: int) -> Iterator[Callable[[], None]]:
    cursors = {space["name"]: space["seq"] for space in client("/v1/me").json["spaces"]}
    body = {"machine": "bench", "cursors": cursors}
    for _ in range(requests + 20):
        yield partial(_ask, client, "/v1/sync", body)


def _changing(client: Client, space: str, requests: int) -> Iterator[Callable[[], None]]:
    for change in _changes(space, requests + 20, seed=3):
        yield partial(_ask, client, "/v1/changes", {"machine": "bench", "changes": [change]})


def _accepted(running: RunningHub, planted: Planted, batches: int) -> float:
    """Changes a second, by four clients, each in its own space."""
    names = [*planted.sizes][3:7]
    given = {name: [*_changes(name, batches * _BATCH, seed=hash(name) % 1000)] for name in names}

    def send(name: str) -> None:
        client = Client(running.url, planted.tokens[name])
        for start in range(0, batches * _BATCH, _BATCH):
            _ask(client, "/v1/changes", {"machine": "bench", "changes": given[name][start : start + _BATCH]})

    threads = [threading.Thread(target=send, args=(name,)) for name in names]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(names) * batches * _BATCH / (time.perf_counter() - started)


def _changes(space: str, count: int, seed: int) -> Iterator[dict[str, object]]:
    vocabulary = corpus.Vocabulary(seed)
    now = time.time_ns() // 1_000_000
    for number in range(count):
        id = ulid(now, number + seed * 1_000_000)
        yield {"space": space, "id": id, "base": 0, "text": text_of(id, vocabulary.text(120), vocabulary.text(6))}


def _took(running: RunningHub, what: str, calls: Iterator[Callable[[], None]]) -> Took:
    """What calls take after the first twenty."""
    show(what)
    times, before = [], 0.0
    for number, call in enumerate(calls):
        if number == 20:
            before = _cpu(running)
        started = time.perf_counter()
        call()
        times.append((time.perf_counter() - started) * 1000)
    times = sorted(times[20:])
    return Took(statistics.median(times), times[int(len(times) * 0.99)], (_cpu(running) - before) / len(times))


def _cpu(running: RunningHub) -> float:
    """The milliseconds that this process and the hub's connections have used."""
    with administrator(running.database) as db:
        query = (
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'anamnesis hub' AND datname = current_database()"
        )
        pids = [row["pid"] for row in db.execute(query)]
    used = sum(int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for pid in pids) / 1e6
    return used + time.process_time() * 1000


def _ask(client: Client, path: str, body: object = None) -> None:
    answer = client(path, body)
    if answer.status != 200:
        raise SystemExit(f"The hub answered {answer.status} to {path}: {answer.body!r}")


def _row(name: str, wanted: str, took: Took, is_met: bool | None) -> str:
    met = "" if is_met is None else _met(is_met)
    return line(name, wanted, f"{took.p50:.1f} ms", f"{took.p99:.1f} ms", f"{took.cpu:.1f} ms", met)


def _met(is_met: bool) -> str:
    return "yes" if is_met else "NO"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.hub", description=__doc__)
    parser.add_argument("--notes", type=int, default=1_000_000, help="notes in all spaces together")
    parser.add_argument("--spaces", type=int, default=200, help="spaces; the largest of 200 has 17 %% of the notes")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="keep the database in a folder, and use the one that is there"
    )
    parser.add_argument("--requests", type=int, default=300, help="requests of each kind")
    report.add_record_option(parser)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
