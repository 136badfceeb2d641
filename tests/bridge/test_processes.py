"""Several processes take over the same changes at once, and some are killed: nothing is lost or there twice."""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.bridge.memory import assert_settled, assert_twins, ids_in, observations_of, state

from anamnesis.bridge.bridge import Bridge
from anamnesis.engram import observations, sessions
from anamnesis.engram.database import connect, prepare
from anamnesis.engram.observations import NewObservation
from anamnesis.engram.shared import Shared
from anamnesis.notes import Memory
from anamnesis.store import MemoryStore
from anamnesis.vault import Vault

MANY = 300
RECONCILER = """
import sys
from pathlib import Path
from anamnesis.bridge.bridge import Bridge
from anamnesis.store import MemoryStore
with MemoryStore(sys.argv[1]) as store:
    bridge = Bridge(store, Path(sys.argv[2]), "here")
    bridge.reconcile(lambda done, total: print(done, flush=True))
    bridge.close()
"""
WRITER = """
import sys
from contextlib import closing
from pathlib import Path
from anamnesis.vault import Vault
from anamnesis.engram import observations
from anamnesis.engram.database import connect
from anamnesis.engram.observations import NewObservation
name = sys.argv[3]
with Vault(sys.argv[1], Path(sys.argv[2])) as store, closing(connect(Path(sys.argv[2]))) as db:
    store.connect(Path(sys.argv[2]), "here")
    for number in range(int(sys.argv[4])):
        note = store.write(type="semantic", title=f"{name} {number}", body=f"note of {name} {number}")
        print(note.title, flush=True)
        with store.around(db):
            new = NewObservation("s1", f"{name} row {number}", f"row of {name} {number}", "decision", "", "anamnesis")
            observations.add(db, new)
            topic = NewObservation("s1", "Shared", f"{name} {number}", "decision", "", "anamnesis", "", "shared/topic")
            observations.add(db, topic)
        print(f"{name} row {number}", flush=True)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    prepare(tmp_path / "engram.db")
    with contextlib.closing(connect(tmp_path / "engram.db")) as db:
        sessions.create(db, "s1", "anamnesis")
    return tmp_path / "engram.db"


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)], stdout=subprocess.PIPE, text=True, bufsize=1
    )


def fill(root: Path, path: Path) -> None:
    """As many notes as observations, none of which the other side knows."""
    with MemoryStore(root) as store:
        store.put_all(Memory(f"n{number}", "semantic", f"Note {number}", f"body {number}") for number in range(MANY))
    with contextlib.closing(connect(path)) as db:
        for number in range(MANY):
            observations.add(db, NewObservation("s1", f"Row {number}", f"content {number}", "bugfix", "", "anamnesis"))


def assert_one_memory(root: Path, path: Path) -> list[str]:
    """Both sides agree after one more look; the titles of the observations."""
    with MemoryStore(root) as store, contextlib.closing(connect(path)) as db:
        with contextlib.closing(Bridge(store, path, "here")) as bridge:
            bridge.reconcile()
            assert_settled(store, db)
            assert_twins(store, db)
            before = state(root, path)
            bridge.reconcile()
            assert state(root, path) == before
        assert store.problems() == []
        rows = observations_of(db)
        assert len(ids_in(root)) == len(rows)
        return sorted(row.title for row in rows.values())


def test_two_processes_that_take_over_the_same_backlog_make_nothing_twice(tmp_path: Path, path: Path) -> None:
    root = tmp_path / "store"
    fill(root, path)
    processes = [start(RECONCILER, root, path) for _ in range(2)]
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    names = [f"{kind} {number}" for kind in ("Note", "Row") for number in range(MANY)]
    assert assert_one_memory(root, path) == sorted(names)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no such signal here")
def test_what_a_killed_process_left_half_done_is_done_by_the_next_one(tmp_path: Path, path: Path) -> None:
    root = tmp_path / "store"
    fill(root, path)
    other = start(RECONCILER, root, path)
    for run in range(4):
        killed = start(RECONCILER, root, path)
        assert killed.stdout
        if run % 2:
            killed.stdout.readline()  # in the middle of its second batch, or waiting for the other one
        killed.kill()
        killed.communicate()
    other.communicate()
    assert other.returncode == 0
    names = [f"{kind} {number}" for kind in ("Note", "Row") for number in range(MANY)]
    assert assert_one_memory(root, path) == sorted(names)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no such signal here")
def test_writers_on_both_doors_of_one_memory_lose_nothing_also_if_one_is_killed(tmp_path: Path, path: Path) -> None:
    root = tmp_path / "store"
    with MemoryStore(root):
        pass
    writers = [start(WRITER, root, path, name, 12) for name in ("anna", "bert")]
    killed = start(WRITER, root, path, "killed", 1000)
    assert killed.stdout
    acknowledged = [killed.stdout.readline().strip() for _ in range(random.Random(7).randint(5, 9))]
    killed.kill()
    acknowledged += [line.strip() for line in killed.stdout if line.endswith("\n")]
    killed.communicate()
    for writer in writers:
        out, _ = writer.communicate()
        assert writer.returncode == 0
        acknowledged += out.splitlines()
    titles = assert_one_memory(root, path)
    assert {*acknowledged} <= {*titles}
    assert len(titles) == len({*titles})
    assert titles.count("Shared") == 1


def test_threads_that_connect_a_vault_at_once_share_one_bridge(tmp_path: Path) -> None:
    """With two of them, a thread that reconciles waits for itself: each has a lock of its own on one file."""
    together = threading.Barrier(4)

    def connect_when_all_are_there(_: int) -> object:
        together.wait()
        return vault.connect(shared, "laptop")

    with contextlib.closing(Shared(tmp_path / "engram.db")) as shared, Vault(tmp_path / "home") as vault:
        with ThreadPoolExecutor(4) as pool:
            bridges = {*pool.map(connect_when_all_are_there, range(4))}
        assert bridges == {vault.bridge}
