"""Many processes write, search and reindex one store at once. Run as a script, this file is one of them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from anamnesis.notes import parse
from anamnesis.store import MemoryStore, RefreshCounts

WRITERS = 8
# A name with numbers would also be found by its parts.
LETTERS = str.maketrans("0123456789", "bcdfghjkmn")  # no endings that are cut


def write(root: str, name: str, writes: str) -> None:
    with MemoryStore(root) as store:
        for number in range(int(writes)):
            word = f"{name}x{number}".translate(LETTERS)
            store.write(type="semantic", title=f"{name} {number}", body=f"common {word}", tags=[name])
            if number % 10 == 0:
                assert len(store.search(word, mode="words")) == 1
            print(word)


def search(root: str, name: str) -> None:
    """Search until told to stop; no answer may be empty."""
    stop = Path(root) / "stop"
    searches = 0
    while not stop.exists():
        with MemoryStore(root) as store:
            for _ in range(20):
                assert len(store.search("common seed", mode="words")) >= 1
                assert len(store.search("seedling", mode="words")) == 1
                assert len(store.list(limit=1)) == 1
                searches += 1
    print(searches)


def reindex(root: str, name: str) -> None:
    stop = Path(root) / "stop"
    rounds = 0
    while not stop.exists():
        with MemoryStore(root) as store:
            assert store.reindex() >= 1
            rounds += 1
    print(rounds)


def start(work: str, root: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", __file__, work, str(root), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_eight_writers_two_searchers_and_a_reindexer_lose_nothing(tmp_path: Path) -> None:
    from tests.hunting import at_length  # not in the processes, which run this file alone

    root, writes = tmp_path / "store", at_length(100, 500)
    with MemoryStore(root) as store:
        store.write(type="semantic", title="seedling", body="common seed")
    others = [start("search", root, "a"), start("search", root, "b"), start("reindex", root, "c")]
    writers = [start("write", root, f"w{number}", str(writes)) for number in range(WRITERS)]
    acknowledged = [writer.communicate() for writer in writers]
    (root / "stop").touch()
    ended = [other.communicate() for other in others]
    assert [error for _, error in (*acknowledged, *ended)] == [""] * (WRITERS + 3)
    assert all(process.returncode == 0 for process in (*writers, *others))
    assert all(int(rounds) > 0 for rounds, _ in ended)

    words = {word for output, _ in acknowledged for word in output.split()}
    assert len(words) == WRITERS * writes
    with MemoryStore(root) as store:
        assert store.problems() == []
        assert store.count() == len(words) + 1
        in_files = {parse(path.read_text("utf-8")).id for path in store.memory_dir.rglob("*.md")}
        assert {memory.id for memory in store.list()} == in_files
        assert all(store.get(memory_id).id == memory_id for memory_id in in_files)
        assert len(store.search("common", k=9999, mode="words")) == len(in_files) == len(words) + 1
        assert all(len(store.search(word, mode="words")) == 1 for word in words)
        assert store.refresh() == RefreshCounts(0, 0, 0)


if __name__ == "__main__":
    work: dict[str, Callable[..., None]] = {"write": write, "search": search, "reindex": reindex}
    work[sys.argv[1]](*sys.argv[2:])
