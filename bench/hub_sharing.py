"""`python -m bench.hub_sharing`: what a member of a hub waits while another sends 12 batches of 7.7 MB at once."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.hub.running import Client, RunningHub, text_of
from tests.hub.test_processes import served
from tests.postgres import server

from anamnesis.notes import ulid
from bench import corpus, report
from bench.driver import show
from bench.verdict import head, line

HEADING = "# The hub, shared"
_METHOD = """\
One hub in a process of its own, as `anamnesis hub serve` starts it, and a PostgreSQL 18 on the same machine (fsync
off). One member sends batches of 64 notes of 120 KB, 12 at once, from another process. A second member meanwhile reads,
syncs, searches and changes notes, one request after the other. The ratio is to the same requests without the writer."""
_BATCHES, _NOTES, _WORDS = 12, 64, 16_500
_P99_MS = 300


class Took(NamedTuple):
    """The times of requests in milliseconds."""

    p50: float
    p99: float
    worst: float
    requests: int


def main() -> int:
    options = _options()
    if options.write:
        return _write(*options.write)
    with tempfile.TemporaryDirectory() as folder, RunningHub(server().new_hub()) as setup:
        member, writer = setup.user("member", core="writer"), setup.user("writer")
        with served(setup.database, Path(folder)) as (url, _):
            client = Client(url, member.token)
            for number in range(200):
                client.put("core", f"N{number}", text_of(f"N{number}", corpus.Vocabulary(number).text(120)))
            alone = _asked(client, iter(range(options.requests)))
            beside, answers = _beside(client, url, writer.token)
    table = "\n".join(_rows(alone, beside, answers))
    print(table)
    if options.record:
        report.record_part(options.record, HEADING, "bench.hub_sharing", table, _METHOD)
    return 0


def _rows(alone: Took, beside: Took, answers: list[str]) -> Iterator[str]:
    yield head(f"{beside.requests} requests beside {_BATCHES} batches", "wanted", "p50", "p99", "longest", "met")
    yield line("alone", "", *_shown(alone), "")
    met = "yes" if beside.p99 <= _P99_MS else "NO"
    yield line("beside the writer", f"p99 ≤ {_P99_MS} ms", *_shown(beside), met)
    ratio = f"{beside.p50 / alone.p50:.1f} ×", f"{beside.p99 / alone.p99:.1f} ×", f"{beside.worst / alone.worst:.1f} ×"
    yield line("ratio", "", *ratio, "")
    show(f"the writer's batches: {', '.join(answers)}")


def _shown(took: Took) -> tuple[str, str, str]:
    return f"{took.p50:.1f} ms", f"{took.p99:.1f} ms", f"{took.worst:.1f} ms"


def _beside(client: Client, url: str, token: str) -> tuple[Took, list[str]]:
    """The times of the member's requests while the writer's run, and what those were answered."""
    command = [sys.executable, "-m", "bench.hub_sharing", "--write", url, token]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        process.stdout.readline()  # the batches are made, and are being sent
        took = _asked(client, iter(lambda: process.poll() is None, False))
        return took, process.stdout.read().split("\n")[:-1]


def _asked(client: Client, while_: Iterator[object]) -> Took:
    """What small requests of every kind take, one after the other."""
    kinds: list[Callable[[int], int]] = [
        lambda _: client("/v1/me").status,
        lambda _: client("/v1/sync", {"machine": "desk", "cursors": {"core": 10_000}}).status,
        lambda number: client(f"/v1/spaces/core/notes/N{number % 200}").status,
        lambda number: client(f"/v1/search?q={corpus.Vocabulary(number % 200).text(3).replace(' ', '+')}").status,
        lambda number: 200 if client.put("core", f"X{number}-{time.time_ns()}", text_of("X")) else 500,
    ]
    times: list[float] = []
    for number, _ in enumerate(while_):
        started = time.perf_counter()
        status = kinds[number % len(kinds)](number)
        times.append((time.perf_counter() - started) * 1000)
        if status != 200:
            raise SystemExit(f"The hub answered {status} after {times[-1]:.0f} ms.")
        time.sleep(0.01)
    times.sort()
    return Took(statistics.median(times), times[int(len(times) * 0.99)], times[-1], len(times))


def _write(url: str, token: str) -> int:
    """Send all batches at once, and print the status and the seconds of each."""
    now, text = time.time_ns() // 1_000_000, corpus.Vocabulary(7).text(_WORDS)
    batches = []
    for batch in range(_BATCHES):
        ids = [ulid(now, batch * 1_000 + number) for number in range(_NOTES)]
        changes = [{"space": "~writer", "id": id, "base": 0, "text": text_of(id, f"{id} {text}")} for id in ids]
        batches.append(changes)
    print(f"sending {len(text_of('x', text)) * _NOTES / 1e6:.1f} MB each", flush=True)

    def send(changes: object) -> None:
        started = time.perf_counter()
        try:
            said = str(Client(url, token)("/v1/changes", {"machine": "bench", "changes": changes}).status)
        except OSError:
            said = "no answer"
        print(f"{said} after {time.perf_counter() - started:.1f} s", flush=True)

    threads = [threading.Thread(target=send, args=(changes,)) for changes in batches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.hub_sharing", description=__doc__)
    parser.add_argument("--requests", type=int, default=300, help="requests without the writer")
    parser.add_argument("--write", nargs=2, metavar=("URL", "TOKEN"), help=argparse.SUPPRESS)
    report.add_record_option(parser)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
