"""Another process writes the index: readers are not held up, and no write is lost."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from anamnesis.disk import locked
from anamnesis.errors import StoreUnavailable
from anamnesis.notes import Memory
from anamnesis.store import MemoryStore, RefreshCounts


@contextlib.contextmanager
def index_locked(root: Path, kind: str = "IMMEDIATE") -> Iterator[None]:
    with contextlib.closing(sqlite3.connect(root / "index.db", isolation_level=None)) as db:
        db.execute(f"BEGIN {kind}")
        yield
        db.execute("ROLLBACK")


@pytest.mark.parametrize("kind", ["IMMEDIATE", "EXCLUSIVE"])
def test_opening_and_asking_take_no_lock(store: MemoryStore, kind: str) -> None:
    memory = store.write(type="semantic", title="t", body="words")
    with index_locked(store.root, kind), MemoryStore(store.root) as again:
        for opened in (store, again):
            assert opened.search("words", mode="words") == opened.list() == [memory]
            assert opened.get(memory.id) == memory
            assert opened.count() == opened.stats().total == 1
            assert opened.problems() == []


def test_changed_folders_do_not_make_an_opening_wait_for_the_lock(store: MemoryStore) -> None:
    memory = store.write(type="semantic", title="t", body="words")
    path = store.memory_dir / "semantic" / "pulled.md"
    path.write_text("---\nid: pulled\ntype: semantic\ntitle: t\n---\nwords\n", "utf-8")
    with index_locked(store.root), MemoryStore(store.root) as again:
        assert again.search("words", mode="words") == [memory]
    with MemoryStore(store.root) as again:
        assert len(again.search("words", mode="words")) == 2


def test_a_stale_hit_does_not_make_a_search_wait_for_the_lock(store: MemoryStore) -> None:
    edited, gone = (store.write(type="semantic", title="t", body="words") for _ in range(2))
    (store.memory_dir / "semantic" / f"{gone.id}.md").unlink()
    path = store.memory_dir / "semantic" / f"{edited.id}.md"
    path.write_text(path.read_text("utf-8").replace("words", "words edited"), "utf-8")
    with index_locked(store.root):
        assert [memory.body for memory in store.search("words", mode="words")] == ["words edited"]
    assert [memory.body for memory in store.search("words", mode="words")] == ["words edited"]
    assert [memory.body for memory in store.search("edited", mode="words")] == ["words edited"]
    assert store.count() == 1


def test_writes_under_a_lasting_lock_keep_the_old_note_and_the_new(store: MemoryStore) -> None:
    """The lock outlasts the five seconds for which a writer waits."""
    old = store.put(Memory("old", "semantic", "t", "old words"))
    written: list[Memory] = []

    def write() -> None:
        written.append(store.write(type="semantic", title="t", body="new words"))

    with index_locked(store.root, "EXCLUSIVE"):
        other = threading.Thread(target=write)
        other.start()
        with MemoryStore(store.root) as mine:
            changed = mine.put(replace(old, body="changed words"))
        other.join()
        assert store.get("old") == changed
        assert [store.get(memory.id) for memory in written] == written != []
    for opened in (store, MemoryStore(store.root)):
        with opened:
            assert {memory.body for memory in opened.search("words", mode="words")} == {"changed words", "new words"}
            assert opened.search("old", mode="words") == []
            assert opened.refresh() == RefreshCounts(0, 0, 0)


HOLDER = """
import sys, time
from pathlib import Path
from anamnesis.disk import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_killed_process_lets_go_of_the_store(store: MemoryStore) -> None:
    lock = store.root / "store.lock"
    command = [sys.executable, "-c", HOLDER, str(lock)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StoreUnavailable, match=r"store\.lock"), locked(lock, timeout=0):
            pass
        holder.kill()
    memory = store.put(Memory("x", "semantic", "t", "b"))
    assert store.get("x") == memory
