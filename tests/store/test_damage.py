"""The index is derived: whatever happens to it, on disk or under an open store, recall is complete again."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from anamnesis.notes import Memory
from anamnesis.store import MemoryStore, RefreshCounts

COUNT = 150
NOTES = [
    Memory(f"n{n}", ("semantic", "procedural")[n % 2], f"title {n}", f"unique{n} common " * 20, tags=[f"tag{n}"])
    for n in range(COUNT)
]

EARLIER_SCHEMA = """
CREATE TABLE IF NOT EXISTS memories (
id TEXT PRIMARY KEY,
type TEXT NOT NULL CHECK (type IN ('procedural','semantic','episodic')),
title TEXT NOT NULL,
body_path TEXT NOT NULL,
project TEXT NOT NULL DEFAULT 'global',
machine_id TEXT NOT NULL,
scope TEXT NOT NULL DEFAULT 'portable' CHECK (scope IN ('portable','machine-local')),
created_at TEXT NOT NULL,
updated_at TEXT NOT NULL,
prov_source TEXT NOT NULL DEFAULT 'human'
CHECK (prov_source IN ('human','session-end','reflection','import')),
prov_model TEXT,
prov_session TEXT,
confidence REAL NOT NULL DEFAULT 1.0,
supersedes TEXT
);
CREATE INDEX IF NOT EXISTS idx_mem_scope ON memories(project, type, scope);
CREATE INDEX IF NOT EXISTS idx_mem_recency ON memories(updated_at DESC);
CREATE INDEX IF NOT EXISTS idx_mem_prov ON memories(prov_source);
CREATE TABLE IF NOT EXISTS memory_tags (
memory_id TEXT NOT NULL REFERENCES memories(id) ON DELETE CASCADE,
tag TEXT NOT NULL,
PRIMARY KEY (memory_id, tag)
);
CREATE VIRTUAL TABLE IF NOT EXISTS memories_fts USING fts5(
id UNINDEXED, title, body, tags, tokenize='porter unicode61'
);
INSERT INTO memories (id, type, title, body_path, machine_id, created_at, updated_at)
VALUES ('n1', 'semantic', 'stale', 'semantic/gone.md', 'x', '', ''), ('ghost', 'semantic', 'g', 'g.md', 'x', '', '');
INSERT INTO memories_fts (id, title, body, tags) VALUES ('ghost', 'g', 'common', '');
"""


def delete(index: Path) -> None:
    index.unlink()


def delete_all(index: Path) -> None:
    for name in ("index.db", "index.db-wal", "index.db-shm"):
        index.with_name(name).unlink(missing_ok=True)


def replace_by_garbage(index: Path) -> None:
    delete_all(index)
    index.write_bytes(b"This is no database. " * 5_000)


def overwrite_by_garbage(index: Path) -> None:
    index.write_bytes(os.urandom(200_000))


def empty(index: Path) -> None:
    index.write_bytes(b"")


def truncate(index: Path) -> None:
    os.truncate(index, index.stat().st_size // 2)


def overwrite_the_middle(index: Path) -> None:
    size = index.stat().st_size
    with open(index, "r+b") as file:
        file.seek(size // 4 // 4096 * 4096)
        file.write(b"\xa5" * (size // 2))


def overwrite_all_but_the_header(index: Path) -> None:
    size = index.stat().st_size
    with open(index, "r+b") as file:
        file.seek(4096)
        file.write(bytes(size - 4096))


def replace_by_earlier(index: Path, version: int) -> None:
    earlier = index.with_name("earlier.db")
    with contextlib.closing(sqlite3.connect(earlier)) as db:
        db.executescript(EARLIER_SCHEMA)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"PRAGMA user_version = {version:d}")
        db.commit()
    for name in ("index.db-wal", "index.db-shm"):
        index.with_name(name).unlink(missing_ok=True)
    earlier.replace(index)


def replace_by_version_1(index: Path) -> None:
    replace_by_earlier(index, 1)


def replace_by_version_2(index: Path) -> None:
    replace_by_earlier(index, 2)


def replace_by_another_program(index: Path) -> None:
    replace_by_earlier(index, 4711)


def drop_a_table(index: Path) -> None:
    with contextlib.closing(sqlite3.connect(index)) as db:
        db.execute("DROP TABLE memories_fts")
        db.commit()


DAMAGES = [
    delete,
    delete_all,
    replace_by_garbage,
    overwrite_by_garbage,
    empty,
    truncate,
    overwrite_the_middle,
    overwrite_all_but_the_header,
    replace_by_version_1,
    replace_by_version_2,
    replace_by_another_program,
    drop_a_table,
]


def assert_recall_is_complete(store: MemoryStore) -> None:
    assert len(store.search("common", k=COUNT + 1, mode="words")) == COUNT
    for memory in NOTES:
        assert [found.id for found in store.search(memory.body.split()[0], mode="words")] == [memory.id]
    assert store.count() == store.stats().total == COUNT
    assert {found.id: found for found in store.list()} == {memory.id: memory for memory in NOTES}
    assert store.refresh() == RefreshCounts(0, 0, 0)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("model")
    with MemoryStore(root) as store:
        store.put_all(NOTES)
    return root


@pytest.fixture
def root(model: Path, tmp_path: Path) -> Path:
    """A closed store of many notes, all of its index in the one file."""
    return Path(shutil.copytree(model, tmp_path / "store"))


@pytest.mark.parametrize("damage", DAMAGES)
def test_recall_is_complete_after_opening_over(root: Path, damage: Callable[[Path], None]) -> None:
    damage(root / "index.db")
    with MemoryStore(root) as store:
        assert_recall_is_complete(store)


@pytest.mark.parametrize("damage", DAMAGES)
def test_recall_is_complete_when_an_open_store_suffers(root: Path, damage: Callable[[Path], None]) -> None:
    with MemoryStore(root) as store:
        assert store.count() == COUNT
        damage(root / "index.db")
        assert_recall_is_complete(store)
    with MemoryStore(root) as store:
        assert_recall_is_complete(store)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_write_into_a_damaged_index_is_kept_and_found(root: Path, damage: Callable[[Path], None]) -> None:
    with MemoryStore(root) as store:
        damage(root / "index.db")
        memory = store.write(type="semantic", title="t", body="written meanwhile")
        assert store.search("meanwhile", mode="words") == [memory]
    with MemoryStore(root) as store:
        assert store.search("meanwhile", mode="words") == [memory]
        assert store.count() == COUNT + 1


RECALLER = """
import sys
from anamnesis.store import MemoryStore
with MemoryStore(sys.argv[1]) as store:
    for number in range(0, 150, 10):
        assert [memory.id for memory in store.search(f"unique{number}", mode="words")] == [f"n{number}"], number
    print(store.count(), len(store.search("common", k=999, mode="words")))
"""


@pytest.mark.parametrize("damage", [delete_all, replace_by_garbage, overwrite_the_middle, replace_by_version_1])
def test_all_of_many_processes_that_meet_the_damage_recall_everything(
    root: Path, damage: Callable[[Path], None]
) -> None:
    damage(root / "index.db")
    command = [sys.executable, "-W", "error", "-c", RECALLER, str(root)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(5)]
    assert [process.communicate() for process in processes] == [(f"{COUNT} {COUNT}\n", "")] * 5


@pytest.mark.parametrize("suffixes", [("-wal",), ("-shm",), ("-wal", "-shm")])
def test_recall_is_complete_after_a_lost_journal(root: Path, tmp_path: Path, suffixes: tuple[str, ...]) -> None:
    with MemoryStore(root) as store:
        memory = store.write(type="semantic", title="t", body="only in the journal")
        assert (root / "index.db-wal").stat().st_size > 0
        copy = Path(shutil.copytree(root, tmp_path / "copy"))
    for suffix in suffixes:
        (copy / f"index.db{suffix}").unlink(missing_ok=True)
    with MemoryStore(copy) as store:
        assert store.search("journal", mode="words") == [memory]
        assert store.count() == COUNT + 1
        assert store.refresh() == RefreshCounts(0, 0, 0)


@pytest.mark.parametrize("suffixes", [("-wal",), ("-wal", "-shm")])
def test_notes_are_kept_and_found_when_the_journal_goes_under_an_open_store(
    root: Path, suffixes: tuple[str, ...]
) -> None:
    with MemoryStore(root) as store:
        before = store.write(type="semantic", title="t", body="meanwhile")
        for suffix in suffixes:
            (root / f"index.db{suffix}").unlink()
        with MemoryStore(root) as other:
            assert len(other.search("meanwhile", mode="words")) == 1
        after = store.write(type="semantic", title="t", body="meanwhile")
        assert {memory.id for memory in store.search("meanwhile", mode="words")} == {before.id, after.id}
    with MemoryStore(root) as store:
        assert {memory.id for memory in store.search("meanwhile", mode="words")} == {before.id, after.id}
        assert store.count() == COUNT + 2


def test_a_reindex_mends_what_no_question_noticed(root: Path) -> None:
    with contextlib.closing(sqlite3.connect(root / "index.db")) as db:
        db.execute("UPDATE memories SET title = 'wrong'")
        db.execute("DELETE FROM memories_fts WHERE rowid % 2")
        db.commit()
    with MemoryStore(root) as store:
        assert store.reindex() == COUNT
        assert_recall_is_complete(store)


def test_a_reindex_reports_its_progress(root: Path) -> None:
    seen: list[tuple[int, int]] = []
    with MemoryStore(root) as store:
        store.reindex(lambda done, total: seen.append((done, total)))
    assert seen[-1] == (COUNT, COUNT)
    assert seen == sorted(seen)


def test_a_left_over_of_a_killed_rebuild_does_no_harm(root: Path) -> None:
    (root / "index.db.new").write_bytes(b"half of an index")
    with MemoryStore(root) as store:
        assert store.reindex() == COUNT
        assert_recall_is_complete(store)
    assert not (root / "index.db.new").exists()
