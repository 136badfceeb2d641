"""On a read-only disk, a store answers from a private index, and from index.db again once the disk is writable."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.disks import full_disk

from anamnesis.errors import StoreUnavailable
from anamnesis.notes import Memory, render
from anamnesis.store import MemoryStore, RefreshCounts


def note(name: str, body: str) -> Memory:
    return Memory(name, "semantic", "t", body)


def save(root: Path, name: str, body: str) -> None:
    """What another program saves."""
    (root / "memory" / "semantic" / f"{name}.md").write_text(render(note(name, body)), "utf-8")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A closed store of two notes, of which the index knows one."""
    with MemoryStore(tmp_path / "store") as store:
        store.put(note("known", "common known"))
    save(tmp_path / "store", "new", "common new")
    return tmp_path / "store"


def found(store: MemoryStore, query: str) -> set[str]:
    return {memory.id for memory in store.search(query, k=99, mode="words")}


def test_what_changed_is_found_and_index_db_stays_as_it_is(root: Path) -> None:
    before = (root / "index.db").read_bytes()
    with full_disk(), MemoryStore(root) as store:
        assert found(store, "common") == {"known", "new"}
        assert store.count() == 2
        with pytest.raises(StoreUnavailable):
            store.put(note("refused", "common"))
        assert found(store, "common") == {"known", "new"}
    assert (root / "index.db").read_bytes() == before


def test_an_edit_in_place_is_entered_by_the_search_that_finds_it(root: Path) -> None:
    with MemoryStore(root) as store:
        assert store.count() == 2
    save(root, "known", "rewritten")
    with full_disk(), MemoryStore(root) as store:
        assert found(store, "known") == set()
        assert found(store, "rewritten") == {"known"}
        assert store.get("known").body == "rewritten"


def test_the_index_on_the_disk_is_used_again_after_a_write(root: Path) -> None:
    with full_disk():
        store = MemoryStore(root)
    with store, MemoryStore(root) as other:
        assert found(store, "common") == {"known", "new"}
        store.put(note("written", "common written"))
        assert found(store, "written") == found(other, "written") == {"written"}
        other.put(note("theirs", "common theirs"))
        assert found(store, "theirs") == {"theirs"}
        assert found(store, "common") == {"known", "new", "written", "theirs"}
        assert store.refresh() == RefreshCounts(0, 0, 0)


def test_threads_share_a_private_index(root: Path) -> None:
    with full_disk(), MemoryStore(root) as store, ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: found(store, "common"), range(64)))
    assert answers == [{"known", "new"}] * 64


def test_notes_that_are_only_read_create_no_folder(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "none", only_to_read=True) as store:
        assert store.list() == store.search("x", mode="words") == []
        assert store.find("x") is None
    assert not (tmp_path / "none").exists()
