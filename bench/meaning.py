"""`python -m bench.meaning`: the time and memory of a search by words and meaning."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np

from anamnesis.meaning.model import WIDTH, Model, Vectors, load
from anamnesis.store import MemoryStore
from anamnesis.store.meaning import Meaning
from bench import corpus, report
from bench.driver import show, timed
from bench.load import OURS, environment, running
from bench.verdict import head, line

HEADING = "# Search by words and meaning"
_PROGRAM = Path(sys.executable).with_name("anamnesis")
_QUERIES = 60
_COMMANDS = 15
# The distribution of real vectors, measured on conversations and code: one shared direction, and several others.
_SHARED, _OWN, _TOPICS = 0.69, 0.72, 75
_TARGETS = {
    ("search", 10_000): 15,
    ("search", 50_000): 35,
    ("command with a daemon", 10_000): 150,
    ("command alone", 10_000): 400,
    ("memory", 50_000): 120,
}
_METHOD = """\
Notes of 120 made-up words, as in the first part. Their vectors are random, in the shape of real ones: to embed 50,000
notes takes a quarter of an hour. *Search*: queries of 3, 4 and 5 words in a warm process, the query embedded by the
model each time. *Words alone*: the same with `mode="words"`. *Opening*: from the first search to its answer, with the
model loaded. *Command*: `anamnesis search` from its start to its end. *Memory*: resident, of a daemon that has answered
searches."""


class _StandIn:
    """Random vectors, which take no time. A query is also embedded by the model, as in a real search."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(7)
        directions = self._random.standard_normal((_TOPICS + 1, WIDTH)).astype(np.float32)
        self._shared, *topics = directions / np.linalg.norm(directions, axis=1, keepdims=True)
        self._topics = np.array(topics)

    def passages(self, texts: list[str]) -> Vectors:
        own = self._random.standard_normal((len(texts), _TOPICS)).astype(np.float32) / np.float32(_TOPICS**0.5)
        vectors = np.float32(_SHARED) * self._shared + np.float32(_OWN) * (own @ self._topics)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return cast("Vectors", vectors)

    def query(self, text: str) -> Vectors:
        load().query(text)
        return cast("Vectors", self.passages([text])[0])


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        table = "\n".join(_table(Path(folder), options.sizes))
    print(table)
    if options.record:
        report.record_part(options.record, HEADING, "bench.meaning", table, _METHOD)
    return 0


def _table(folder: Path, sizes: list[int]) -> Iterator[str]:
    yield head("notes", "what", "p50", "p95", "wanted", "met")
    for size in sizes:
        home = folder / str(size)
        show(f"writing {size:,} notes")
        corpus.write_store(home, size)
        for what, unit, found in _measured(home):
            p50, p95 = statistics.median(found), sorted(found)[int(0.95 * (len(found) - 1))]
            most = _TARGETS.get((what, size))
            wanted = (f"≤ {most} {unit}", "yes" if p50 <= most else "NO") if most else ("", "")
            yield line(f"{size:,}", what, f"{p50:.1f} {unit}", f"{p95:.1f} {unit}" if len(found) > 1 else "", *wanted)
    show("")


def _measured(home: Path) -> Iterator[tuple[str, str, list[float]]]:
    with MemoryStore(home) as store, closing(Meaning(store._index, store.log, home / "vectors.db", _model)) as meaning:
        show("indexing and embedding")
        store.refresh()
        meaning.follow()
        store.ranking.__dict__["meaning"] = meaning
        load()
        yield "opening", "ms", [timed(partial(store.search, "first"))]
        queries = [query for words in (3, 4, 5) for query in corpus.queries(_QUERIES // 3, words=words, seed=words)]
        show("searching")
        yield "search", "ms", [timed(partial(store.search, query)) for query in queries]
        yield "words alone", "ms", [timed(partial(store.search, query, mode="words")) for query in queries]
    commands = [partial(_run, home, query) for query in queries[:_COMMANDS]]
    yield "command alone", "ms", [timed(command) for command in commands]
    with running(OURS, home) as daemon:
        for command in commands:  # until the daemon has loaded what it needs
            command()
        yield "command with a daemon", "ms", [timed(command) for command in commands]
        yield "memory", "MB", [daemon.memory_mb()]


def _model() -> Model:
    return cast("Model", _STAND_IN)


_STAND_IN = _StandIn()


def _run(home: Path, query: str) -> None:
    command = [str(_PROGRAM), "search", query, "--json"]
    subprocess.run(command, env=environment(home, 0), stdout=subprocess.DEVNULL, check=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.meaning", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 50_000], help="notes (10000 50000)")
    report.add_record_option(parser)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
