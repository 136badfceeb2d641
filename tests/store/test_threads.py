"""One store for many threads, and for both sides of a fork."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from anamnesis.notes import Memory
from anamnesis.store import MemoryStore, RefreshCounts


def test_a_store_is_usable_from_another_thread(store: MemoryStore) -> None:
    with ThreadPoolExecutor(1) as pool:
        memory = pool.submit(store.write, type="semantic", title="t", body="word").result()
        assert pool.submit(store.search, "word").result() == store.search("word", mode="words") == [memory]


def test_many_threads_write_search_list_and_reindex_without_loss(store: MemoryStore) -> None:
    store.write(type="semantic", title="t", body="common seed")

    def write(thread: int) -> list[str]:
        return [
            store.write(type="semantic", title=f"t{thread}-{n}", body=f"common w{thread}x{n}").id for n in range(40)
        ]

    def ask(_: int) -> None:
        for _ in range(40):
            assert store.search("common", mode="words")
            assert store.list(limit=5)
            assert store.count() > 0

    def rebuild(_: int) -> None:
        for _ in range(3):
            store.reindex()

    with ThreadPoolExecutor(9) as pool:
        writing = [pool.submit(write, thread) for thread in range(5)]
        others = [pool.submit(ask, n) for n in range(3)] + [pool.submit(rebuild, 0)]
        ids = [memory_id for future in writing for memory_id in future.result()]
        for future in others:
            future.result()
    assert len(set(ids)) == 200
    assert store.count() == len(store.search("common", k=999, mode="words")) == 201
    assert all(store.search(f"w{thread}x{n}", mode="words") for thread in range(5) for n in range(40))
    assert store.refresh() == RefreshCounts(0, 0, 0)


def test_a_note_written_during_a_reindex_is_found_at_once(store: MemoryStore) -> None:
    stop = threading.Event()

    def rebuild() -> None:
        while not stop.is_set():
            store.reindex()

    with ThreadPoolExecutor(1) as pool:
        rebuilding = pool.submit(rebuild)
        try:
            for number in range(60):
                memory = store.write(type="semantic", title="t", body=f"w{number}")
                assert store.search(f"w{number}", mode="words") == [memory]
        finally:
            stop.set()
        rebuilding.result()
    assert store.count() == 60


def test_threads_that_change_one_note_leave_one_whole_version(store: MemoryStore) -> None:
    store.put(Memory("x", "semantic", "t", "start"))

    def change(thread: int) -> None:
        for number in range(10):
            store.update("x", body=f"{thread} {number}", type=("semantic", "procedural")[number % 2])

    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(change, thread) for thread in range(4)]:
            future.result()
    assert len([*store.memory_dir.rglob("*.md")]) == store.count() == 1
    assert store.list() == [store.get("x")]


def test_updates_of_different_fields_at_once_are_both_kept(store: MemoryStore) -> None:
    for number in range(10):
        store.put(Memory(f"n{number}", "semantic", "t", "b"))
        with ThreadPoolExecutor(2) as pool:
            both = [
                pool.submit(store.update, f"n{number}", title="new title"),
                pool.submit(store.update, f"n{number}", body="new body"),
            ]
            for future in both:
                future.result()
        memory = store.get(f"n{number}")
        assert (memory.title, memory.body) == ("new title", "new body")


FORKED = """
import os, sys
from anamnesis.store import MemoryStore
with MemoryStore(sys.argv[1]) as store:
    store.write(type="semantic", title="t", body="common before")
    assert len(store.search("common")) == 1
    child = os.fork()
    for number in range(30):
        store.write(type="semantic", title="t", body=f"common {'child' if child == 0 else 'parent'}")
        assert store.search("common")
    if child == 0:
        assert len(store.search("child", k=99, mode="words")) == 30
        store.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert len(store.search("child", k=99, mode="words")) == 30
    assert len(store.search("parent", k=99, mode="words")) == 30
    assert store.count() == 61
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_store_inherited_by_a_fork_works_in_parent_and_child(store: MemoryStore) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", FORKED, str(store.root)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert store.refresh() == RefreshCounts(0, 0, 0)
    assert store.count() == 61
