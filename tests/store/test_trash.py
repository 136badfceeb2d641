"""A deleted note is in the trash, with every version of it, until it is restored."""

from __future__ import annotations

from typing import Any

import pytest

from anamnesis.errors import NoteConflict, NoteNotFound
from anamnesis.notes import Memory
from anamnesis.store import MemoryStore


def note(body: str = "body", **fields: Any) -> Memory:
    return Memory("x", fields.pop("type", "semantic"), "t", body, **fields)


def test_a_deleted_note_is_gone_from_everywhere_but_the_trash(store: MemoryStore) -> None:
    memory = store.put(note())
    assert store.delete("x") == memory
    assert store.list() == store.search("body", mode="words") == []
    assert store.count() == 0
    with pytest.raises(NoteNotFound):
        store.get("x")
    assert [trashed.id for trashed in store.trashed()] == ["x"]


def test_a_deleted_note_stays_deleted_after_a_reindex(store: MemoryStore) -> None:
    store.put(note())
    store.delete("x")
    assert store.reindex() == 0


@pytest.mark.parametrize("scope", ["portable", "machine-local"])
@pytest.mark.parametrize("type", ["procedural", "semantic", "episodic"])
def test_a_restored_note_is_byte_for_byte_what_it_was(store: MemoryStore, scope: str, type: str) -> None:
    store.put(note(type=type, scope=scope))
    (path,) = (*store.memory_dir.rglob("x.md"), *store.local_dir.rglob("x.md"))
    path.write_text(path.read_text("utf-8").replace("tags:", "mine: 1.10\ntags:"), "utf-8")
    before = path.read_bytes()
    store.delete("x")
    assert not path.exists()
    restored = store.restore("x")
    assert path.read_bytes() == before
    assert store.search("body", mode="words") == [restored]
    assert store.trashed() == []


def test_restore_refuses_to_overwrite_the_note_that_has_the_id_now(store: MemoryStore) -> None:
    store.put(note("old"))
    store.delete("x")
    store.put(note("new", type="episodic"))
    with pytest.raises(NoteConflict):
        store.restore("x")
    assert store.get("x").body == "new"
    assert len(store.trashed()) == 1


def test_restore_refuses_to_overwrite_a_file_of_another_note(store: MemoryStore) -> None:
    store.put(note("old"))
    store.delete("x")
    path = store.memory_dir / "semantic" / "x.md"
    path.write_text("---\nid: other\ntype: semantic\ntitle: t\n---\nprecious\n", "utf-8")
    store.refresh()
    with pytest.raises(NoteConflict):
        store.restore("x")
    assert "precious" in path.read_text("utf-8")


def test_the_trash_keeps_every_version(store: MemoryStore) -> None:
    for body in ("one", "two", "three"):
        store.put(note(body))
        store.delete("x")
    texts = [(store.root / trashed.path).read_text("utf-8") for trashed in store.trashed()]
    assert [text.splitlines()[-1] for text in texts] == ["three", "two", "one"]
    assert store.restore("x").body == "three"
    store.delete("x")
    assert len(store.trashed()) == 3


def test_of_many_versions_deleted_within_a_second_the_last_is_restored(store: MemoryStore) -> None:
    for version in range(12):
        store.put(note(f"version {version}"))
        store.delete("x")
    assert store.restore("x").body == "version 11"


def test_a_missing_file_is_not_deleted_but_not_found(store: MemoryStore) -> None:
    store.put(note())
    (store.memory_dir / "semantic" / "x.md").unlink()
    with pytest.raises(NoteNotFound):
        store.delete("x")


def test_deleting_the_first_of_two_files_lets_the_second_take_over(store: MemoryStore) -> None:
    store.put(note("newer", updated_at="2026-01-02"))
    second = store.memory_dir / "semantic" / "copy.md"
    second.write_text("---\nid: x\ntype: semantic\ntitle: t\n---\nolder\n", "utf-8")
    store.refresh()
    store.delete("x")
    with MemoryStore(store.root) as again:
        assert again.get("x").body == "older"
        assert [memory.body for memory in again.search("older newer", mode="words")] == ["older"]
