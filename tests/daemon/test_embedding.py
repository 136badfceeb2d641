"""The daemon embeds notes in the background, at once after any program's write, and no request waits for it."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.disks import full_disk
from tests.remains import BODY, holding
from tests.waiting import wait_until
from tests.web.daemon import Daemon, running

from anamnesis.embedder import Embedder
from anamnesis.engram import database
from anamnesis.store import MemoryStore


@contextlib.contextmanager
def opened(home: Path) -> Iterator[Daemon]:
    """A daemon that has opened the notes."""
    with running(home) as daemon:
        wait_until(lambda: daemon.ready()["bridge"] != "opening")
        yield daemon


def is_embedded(daemon: Daemon) -> bool:
    return bool(daemon.ready()["not_embedded"] == 0)


def is_first(daemon: Daemon, title: str, query: str) -> bool:
    """Whether a search finds this note first. Embedding waits for a pause between requests, so it is given one."""
    time.sleep(0.3)
    answer = json.loads(daemon.ask("POST", "/recall", json.dumps({"query": query, "mode": "meaning"})).body)
    return [hit["title"] for hit in answer["hits"][:1]] == [title]


def write(home: Path, title: str, body: str) -> str:
    with MemoryStore(home) as store:
        return store.write(type="semantic", title=title, body=body).id


def test_notes_are_embedded_at_the_start_and_after_each_write(tmp_path: Path) -> None:
    """Of this process's tools, of Engram's clients and of other processes."""
    write(tmp_path, "Pancakes", "Two eggs and flour.")
    write(tmp_path, "Beach", "Empty in October.")
    database.prepare(tmp_path / "engram.db")
    with opened(tmp_path) as daemon:
        wait_until(lambda: is_embedded(daemon))
        write(tmp_path, "Pods", "kubectl rollout restart")
        wait_until(lambda: is_first(daemon, "Pods", "kubernetes"))
        daemon.ask("POST", "/sessions", json.dumps({"id": "s", "project": "p"}))
        new = {"session_id": "s", "title": "Doctor", "content": "The physician prescribes antibiotics.", "type": "x"}
        daemon.ask("POST", "/observations", json.dumps(new))
        wait_until(lambda: is_first(daemon, "Doctor", "medicine"))
        (tmp_path / "memory" / "garden.md").write_text("# Garden\nRoses and tulips blossom.\n")
        wait_until(lambda: is_first(daemon, "Garden", "flowers"))
        assert is_embedded(daemon)


def test_a_daemon_without_notes_loads_no_model(tmp_path: Path) -> None:
    with opened(tmp_path) as daemon:
        maps = Path(f"/proc/{daemon.process.pid}/maps")
        if not maps.exists():
            pytest.skip("this system does not show what a process has loaded")
        assert daemon.ready()["not_embedded"] == 0
        assert "numpy" not in maps.read_text()
        write(tmp_path, "Pods", "kubectl rollout restart")
        wait_until(lambda: "numpy" in maps.read_text())


@pytest.mark.parametrize("way", ["removed", "damaged", "of another version"])
def test_lost_vectors_are_made_again(tmp_path: Path, way: str) -> None:
    write(tmp_path, "Pods", "kubectl rollout restart")
    write(tmp_path, "Beach", "Empty in October.")
    with MemoryStore(tmp_path) as store:
        assert store.embed() == 2
        assert store.ranking.pending() == 0
    vectors = tmp_path / "vectors.db"
    if way == "removed":
        vectors.unlink()
    elif way == "damaged":
        vectors.write_bytes(b"no database at all, but long enough to be read as one" * 90)
    else:
        with contextlib.closing(sqlite3.connect(vectors)) as db:
            db.execute("PRAGMA user_version = 999")
    with MemoryStore(tmp_path) as store:
        assert store.ranking.pending() == 2
        assert store.search("kubernetes", k=1)[0].title == "Pods"
        assert store.ranking.pending() == 0


def test_damage_that_is_found_in_use_costs_no_search_and_is_repaired(tmp_path: Path) -> None:
    for number in range(40):
        write(tmp_path, f"Note {number}", f"The text of note {number} is about topic {number}.")
    with MemoryStore(tmp_path) as store:
        store.embed()
    size = (tmp_path / "vectors.db").stat().st_size
    with (tmp_path / "vectors.db").open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    with MemoryStore(tmp_path) as store:
        assert store.search("topic 7", k=1)[0].title == "Note 7"
        store.embed()
        assert store.ranking.pending() == 0
        assert store.hits("topic 7", k=1, mode="meaning")
    log = (tmp_path / "anamnesis.log").read_text()
    assert log.count("vectors deleted") == 1


def test_a_file_that_is_removed_under_a_running_store_is_filled_again(tmp_path: Path) -> None:
    pods = write(tmp_path, "Pods", "kubectl rollout restart")
    write(tmp_path, "Beach", "Empty in October.")
    with MemoryStore(tmp_path) as store:
        store.embed()
        for suffix in ("", "-wal", "-shm"):
            (tmp_path / f"vectors.db{suffix}").unlink(missing_ok=True)
        assert store.search("kubernetes", k=1)[0].id == pods
        assert store.ranking.pending() == 0


def test_embedding_stops_between_two_texts_and_continues_later(tmp_path: Path) -> None:
    with MemoryStore(tmp_path) as store:
        for number in range(40):
            store.write(type="semantic", title=f"Note {number}", body=f"Text {number}.")
        calls = iter([False, False, False])
        assert store.ranking.embed(stop=lambda: next(calls, True)) < 40
        left = store.ranking.pending()
        with contextlib.closing(sqlite3.connect(tmp_path / "vectors.db")) as db:
            (done,) = db.execute("SELECT count(*) FROM texts").fetchone()
            assert 0 < done < 40
        assert left
        store.embed()
        assert store.ranking.pending() == 0


def test_an_embedder_stops_at_once_and_starts_only_when_it_is_woken(tmp_path: Path) -> None:
    with MemoryStore(tmp_path) as store:
        for number in range(200):
            store.write(type="semantic", title=f"Note {number}", body=f"Text {number}.")
        embedder = Embedder(store)
        assert embedder._thread is None
        embedder.wake()
        wait_until(lambda: (tmp_path / "vectors.db").exists())
        embedder.close()
        assert embedder._thread
        assert not embedder._thread.is_alive()
        embedder.wake()
        assert not embedder._thread.is_alive()


_BUSY = """
import sys, time
from anamnesis.embedder import Embedder
from anamnesis.store import MemoryStore
with MemoryStore(sys.argv[1]) as store:
    embedder = Embedder(store)
    embedder._last_request = time.monotonic() + 10
    embedder.wake(requested=False)
    time.sleep(0.5)
    print("numpy" in sys.modules)
    embedder._last_request = 0.0
    while store.ranking.pending():
        time.sleep(0.05)
    print("numpy" in sys.modules)
    embedder.close()
"""


def test_no_model_is_loaded_while_requests_arrive(tmp_path: Path) -> None:
    """Loading it takes the processor from them for 0.3 s."""
    write(tmp_path, "Beach", "Empty in October.")
    done = subprocess.run([sys.executable, "-c", _BUSY, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_the_texts_of_deleted_notes_are_removed(tmp_path: Path) -> None:
    with MemoryStore(tmp_path) as store:
        kept = store.write(type="semantic", title="Same", body="same text")
        copy = store.write(type="semantic", title="Same", body="same text")
        gone = store.write(type="semantic", title="Other", body="other text")
        store.embed()
        store.delete(copy.id)
        store.delete(gone.id)
        assert store.ranking.forget_deleted() == 1
        assert [hit.memory.id for hit in store.hits("same text", mode="meaning")] == [kept.id]


def test_a_store_without_vectors_has_nothing_to_remove(tmp_path: Path) -> None:
    with MemoryStore(tmp_path) as store:
        assert store.ranking.forget_deleted() == 0
        assert store.ranking.erase()
        assert store.ranking.damage() == []
    assert not (tmp_path / "vectors.db").exists()


def test_a_failing_embedding_does_not_end_the_daemon(tmp_path: Path) -> None:
    write(tmp_path, "Pods", "kubectl rollout restart")
    (tmp_path / "vectors.db").mkdir()
    with opened(tmp_path) as daemon:
        wait_until(lambda: "meaning failed" in (tmp_path / "anamnesis.log").read_text())
        assert json.loads(daemon.ask("POST", "/recall", '{"query": "kubectl"}').body)["hits"][0]["title"] == "Pods"


def test_a_hard_delete_of_engrams_client_leaves_no_words_behind(tmp_path: Path) -> None:
    text = "\n".join([f"It says {BODY}.", *(f"Line {number} says nothing of interest." for number in range(60))])
    with opened(tmp_path) as daemon:
        daemon.ask("POST", "/sessions", json.dumps({"id": "s", "project": "p"}))
        new = {"session_id": "s", "title": "Other", "content": text, "type": "x"}
        made = json.loads(daemon.ask("POST", "/observations", json.dumps(new)).body)
        wait_until(lambda: is_embedded(daemon) and (tmp_path / "vectors.db").exists())
        assert any(name.startswith("vectors.db") for name in holding(tmp_path))
        assert daemon.ask("DELETE", f"/observations/{made['id']}?hard=true").status == 200
    assert holding(tmp_path) == {}


def test_a_file_that_another_process_writes_costs_no_search(tmp_path: Path) -> None:
    write(tmp_path, "Pancakes", "Two eggs and flour.")
    with MemoryStore(tmp_path) as store:
        store.embed()
        pods = store.write(type="semantic", title="Pods", body="kubectl rollout restart")
        with contextlib.closing(sqlite3.connect(tmp_path / "vectors.db")) as other:
            other.execute("BEGIN IMMEDIATE")
            assert store.search("kubectl", k=1)[0].id == pods.id
            assert store.ranking.pending() == 1
        assert store.search("kubernetes", k=1)[0].id == pods.id
        assert store.ranking.pending() == 0
    assert (tmp_path / "anamnesis.log").read_text().count("meaning failed") == 1


def test_vectors_on_a_full_disk_cost_no_search(tmp_path: Path) -> None:
    write(tmp_path, "Pods", "kubectl rollout restart")
    with full_disk(), MemoryStore(tmp_path) as store:
        assert store.search("kubectl", k=1)[0].title == "Pods"
    with MemoryStore(tmp_path) as store:
        assert store.search("kubernetes", k=1)[0].title == "Pods"
        assert store.ranking.pending() == 0
