"""A killed or failed write leaves whole notes only, and every acknowledged one."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.killing import fork, wait_for

from anamnesis.notes import Memory, parse
from anamnesis.store import MemoryStore, RefreshCounts
from anamnesis.store.files import note_path

WRITER = """
import sys
from anamnesis.notes import Memory
from anamnesis.store import MemoryStore
with MemoryStore(sys.argv[1]) as store:
    number = 0
    while True:
        number += 1
        body = f"run{sys.argv[2]} " + "x" * (number * 7919 % 100_000)
        memory = store.write(type="semantic", title=f"t{number}", body=body)
        store.put(Memory("same", "semantic", "t", body))
        if number % 3 == 0:
            store.update(memory.id, title="changed")
        print(memory.id, flush=True)
"""


def age(root: Path) -> None:
    """Let the folders have changed long ago: within one tick of the clock that stamps files, what a killed process did
    cannot be told from what it did, and entered, before."""
    for folder, *_ in os.walk(root):
        os.utime(folder, ns=(0, 0))


def killed_writer(root: Path, run: int, after: int) -> list[str]:
    """The ids that a writing process acknowledged before it was killed."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(root), str(run)], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout
        ids = [writer.stdout.readline().strip() for _ in range(after)]
        writer.kill()
        ids += [line.strip() for line in writer.stdout if line.endswith("\n")]
    return ids


def test_every_acknowledged_note_of_a_killed_writer_is_whole_and_found(tmp_path: Path) -> None:
    root = tmp_path / "store"
    acknowledged: set[str] = set()
    for run in range(8):
        acknowledged.update(killed_writer(root, run, after=3 + 5 * run))
        age(root)
        with MemoryStore(root) as store:
            assert store.problems() == []
            files = [*store.memory_dir.rglob("*.md")]
            ids = {parse(path.read_text("utf-8")).id for path in files}
            assert len(ids) == len(files)
            assert acknowledged | {"same"} <= ids
            assert {memory.id for memory in store.list()} == ids
            found = {
                memory.id for number in range(run + 1) for memory in store.search(f"run{number}", k=9999, mode="words")
            }
            assert found == ids
            assert store.refresh() == RefreshCounts(0, 0, 0)


REINDEXER = """
import sys
from anamnesis.store import MemoryStore
with MemoryStore(sys.argv[1]) as store:
    while True:
        store.reindex(lambda *_: print("reading", flush=True))
"""


def test_recall_is_complete_after_a_reindex_was_killed(tmp_path: Path) -> None:
    root = tmp_path / "store"
    with MemoryStore(root) as store:
        store.put_all(Memory(f"n{n}", "semantic", "t", f"common unique{n}") for n in range(200))
    for run in range(6):
        with subprocess.Popen([sys.executable, "-c", REINDEXER, str(root)], stdout=subprocess.PIPE) as reindexer:
            assert reindexer.stdout
            for _ in range(1 + run):
                reindexer.stdout.readline()
            reindexer.kill()
        with MemoryStore(root) as store:
            assert store.count() == len(store.search("common", k=999, mode="words")) == 200
            assert store.search(f"unique{run}", mode="words") == [store.get(f"n{run}")]
            assert store.refresh() == RefreshCounts(0, 0, 0)


def test_temporary_files_of_killed_writes_are_no_notes(store: MemoryStore) -> None:
    store.put(Memory("x", "semantic", "t", "word"))
    (store.memory_dir / "semantic" / ".y.md.123-0.tmp").write_text("---\nid: y\ntype", "utf-8")
    assert store.refresh() == RefreshCounts(0, 0, 0)
    assert store.reindex() == 1
    assert store.problems() == []


# A process may not write a file beyond this size: the disk is full, for some files sooner than for others.
LIMITED = """
import resource, sys
from dataclasses import replace
from anamnesis.errors import AnamnesisError
from anamnesis.notes import Memory
from anamnesis.store import MemoryStore
def limited(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
root, size = sys.argv[1], int(sys.argv[2])
with MemoryStore(root) as store:
    limited(size)
    for number in range(5):
        for name, call in (
            ("put", lambda: store.put(replace(store.get("old"), body="changed " + "x" * 3_000))),
            ("write", lambda: store.write(type="semantic", title="t", body="added " + "x" * 3_000)),
            ("all", lambda: store.put_all(
                Memory(f"{number}-{n}", "semantic", "t", "added " + "x" * 1_000 * n) for n in range(5)
            )),
        ):
            try:
                call()
                print(name, "stored")
            except AnamnesisError:
                print(name, "refused")
    limited(resource.RLIM_INFINITY)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on the size of files")
@pytest.mark.parametrize(
    ("size", "puts"), [(0, "refused"), (1_000, "refused"), (3_500, "stored"), (6_000, "stored"), (40_000, "stored")]
)
def test_on_a_full_disk_a_note_is_stored_whole_or_refused_and_nothing_changed(
    tmp_path: Path, size: int, puts: str
) -> None:
    root = tmp_path / "store"
    with MemoryStore(root) as store:
        store.put(Memory("old", "semantic", "t", "original"))
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(root), str(size)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    answers = done.stdout.splitlines()
    assert [answer for answer in answers if answer.startswith("put")] == [f"put {puts}"] * 5
    stored = answers.count("write stored") + 5 * answers.count("all stored")
    files = [path.name for path in (root / "memory").rglob("*") if path.is_file()]
    assert len(files) == stored + 1
    with MemoryStore(root) as store:
        assert store.problems() == []
        assert store.count() == stored + 1
        assert len(store.search("added", k=99, mode="words")) == stored
        word = "changed" if puts == "stored" else "original"
        assert store.get("old").body.startswith(word)
        assert [memory.id for memory in store.search(word, mode="words")] == ["old"]
        assert store.refresh() == RefreshCounts(0, 0, 0)


@pytest.mark.parametrize("change", [{"type": "procedural"}, {"scope": "machine-local"}])
def test_a_note_whose_move_was_killed_is_in_one_file(tmp_path: Path, change: dict[str, Any]) -> None:
    def move(root: Path) -> None:
        with MemoryStore(root) as store:
            store.update("moved", **change)

    for moment in itertools.count(1):
        root = tmp_path / str(moment)
        with MemoryStore(root) as store:
            store.put(Memory("moved", "semantic", "t", "common"))
            age(root)
            store.refresh()
        is_killed = wait_for(fork(partial(move, root), moment))
        assert len([*root.rglob("moved*.md")]) == 1
        with MemoryStore(root) as store:
            assert store.problems() == []
            assert [memory.body for memory in store.search("common", mode="words")] == ["common"]
            moved = store.update("moved", **change)
        assert [*root.rglob("moved*.md")] == [root / note_path(moved)]
        if not is_killed:
            break
