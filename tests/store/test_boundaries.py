"""Nothing outside the store is read or written, whatever an id, a type or a link in the tree says."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from anamnesis.errors import AnamnesisError, InvalidArgument, InvalidNote, NoteNotFound, StoreUnavailable
from anamnesis.notes import Memory
from anamnesis.store import MemoryStore

IDS = ["../x", "../../outside/secret", "a/b", "..", ".", "", "/etc/passwd", "x\0", "x\n", "a\\b", "-x", "~"]
SECRET = "---\nid: secret\ntype: semantic\ntitle: secret\n---\nconfidential\n"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.md").write_text(SECRET, "utf-8")
    return folder


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in sorted(folder.rglob("*"))}


@pytest.mark.parametrize("bad", IDS)
def test_an_id_that_could_be_a_path_is_refused_by_every_method(store: MemoryStore, outside: Path, bad: str) -> None:
    before = tree(outside.parent)
    calls = (
        lambda: store.get(bad),
        lambda: store.delete(bad),
        lambda: store.restore(bad),
        lambda: store.update(bad, title="t"),
        lambda: store.move(bad, "machine-local"),
        lambda: store.put(Memory(bad, "semantic", "t", "b")),
        lambda: store.put_all([Memory(bad, "semantic", "t", "b")]),
    )
    for call in calls:
        with pytest.raises(InvalidNote, match="is not a note id"):
            call()
    assert tree(outside.parent).keys() - before.keys() <= {str(store.root / "store.lock")}
    assert tree(outside) == {str(outside / "secret.md"): SECRET.encode()}


@pytest.mark.parametrize("bad", ["../..", "/tmp", "", "semantic/../../x", "Semantic", "semantic\0"])
def test_a_type_or_scope_that_could_be_a_path_makes_no_folder(store: MemoryStore, bad: str) -> None:
    good = store.put(Memory("x", "semantic", "t", "b"))
    before = tree(store.root.parent).keys()
    for name in ("type", "scope"):
        fields: dict[str, Any] = {name: bad}
        with pytest.raises(InvalidNote):
            store.put(replace(good, **fields))
        with pytest.raises(InvalidNote):
            store.update("x", **fields)
        with pytest.raises(InvalidNote):
            store.write(**{"type": "semantic", "title": "t", "body": "b", **fields})
        with pytest.raises(InvalidArgument):
            store.list(**fields)
    with pytest.raises(AnamnesisError):
        store.move("x", bad)
    assert tree(store.root.parent).keys() == before


def test_an_id_in_a_synced_file_cannot_lead_outside(store: MemoryStore, outside: Path) -> None:
    path = store.memory_dir / "semantic" / "trap.md"
    path.parent.mkdir()
    path.write_text(SECRET.replace("id: secret", "id: ../../../outside/secret"), "utf-8")
    store.refresh()
    assert store.list() == []
    assert [problem.path for problem in store.problems()] == ["memory/semantic/trap.md"]


def test_a_linked_file_is_neither_read_nor_written_nor_deleted(store: MemoryStore, outside: Path) -> None:
    store.put(Memory("x", "semantic", "t", "b"))
    for name in ("secret.md", "linked.md"):
        (store.memory_dir / "semantic" / name).symlink_to(outside / "secret.md")
    for bring_up in (store.refresh, store.reindex):
        bring_up()
        assert store.search("confidential", mode="words") == []
        assert store.count() == 1
    for call in (
        lambda: store.get("secret"),
        lambda: store.delete("secret"),
        lambda: store.update("secret", title="t"),
        lambda: store.put(Memory("secret", "semantic", "t", "overwritten")),
        lambda: store.put_all([Memory("secret", "semantic", "t", "overwritten")]),
    ):
        with pytest.raises((InvalidNote, NoteNotFound, StoreUnavailable)):
            call()
    assert tree(outside) == {str(outside / "secret.md"): SECRET.encode()}


def test_a_note_that_becomes_a_link_leaves_recall(store: MemoryStore, outside: Path) -> None:
    store.put(Memory("secret", "semantic", "t", "confidential"))
    path = store.memory_dir / "semantic" / "secret.md"
    path.unlink()
    path.symlink_to(outside / "secret.md")
    assert store.search("confidential", mode="words") == []
    with pytest.raises(AnamnesisError):
        store.get("secret")


@pytest.mark.parametrize("name", ["semantic", "episodic", "linked", "a/b"])
def test_a_linked_folder_is_neither_read_nor_written_through(store: MemoryStore, outside: Path, name: str) -> None:
    store.put(Memory("x", "procedural", "t", "b"))
    link = store.memory_dir / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside, target_is_directory=True)
    for bring_up in (lambda: MemoryStore(store.root).close(), store.refresh, store.reindex):
        bring_up()
        assert store.search("confidential", mode="words") == []
        assert store.count() == 1
    assert tree(outside) == {str(outside / "secret.md"): SECRET.encode()}


def test_a_linked_folder_of_a_type_refuses_every_write(store: MemoryStore, outside: Path) -> None:
    store.put(Memory("x", "procedural", "t", "b"))
    (store.memory_dir / "semantic").symlink_to(outside, target_is_directory=True)
    writes: list[Callable[[], object]] = [
        lambda: store.write(type="semantic", title="t", body="b"),
        lambda: store.put(Memory("secret", "semantic", "t", "overwritten")),
        lambda: store.put_all([Memory("new", "semantic", "t", "b")]),
        lambda: store.update("x", type="semantic"),
    ]
    for write in writes:
        with pytest.raises(StoreUnavailable, match="symbolic link"):
            write()
    assert store.get("x").type == "procedural"
    assert tree(outside) == {str(outside / "secret.md"): SECRET.encode()}


def test_a_folder_that_becomes_a_link_takes_its_notes_out(store: MemoryStore, outside: Path) -> None:
    store.put(Memory("secret", "semantic", "t", "confidential"))
    folder = store.memory_dir / "semantic"
    folder.rename(store.root / "elsewhere")
    folder.symlink_to(outside, target_is_directory=True)
    assert store.search("confidential", mode="words") == []
    with pytest.raises((NoteNotFound, StoreUnavailable)):
        store.get("secret")
    with pytest.raises((NoteNotFound, StoreUnavailable)):
        store.delete("secret")
    with MemoryStore(store.root) as again:
        assert again.count() == 0
    assert tree(outside) == {str(outside / "secret.md"): SECRET.encode()}


def test_a_link_that_leads_nowhere_makes_no_folder(store: MemoryStore, tmp_path: Path) -> None:
    (store.memory_dir / "semantic").symlink_to(tmp_path / "nowhere", target_is_directory=True)
    with pytest.raises(StoreUnavailable):
        store.write(type="semantic", title="t", body="b")
    assert not (tmp_path / "nowhere").exists()


def test_links_in_a_circle_do_no_harm(store: MemoryStore) -> None:
    store.put(Memory("x", "semantic", "t", "word"))
    (store.memory_dir / "semantic" / "again").symlink_to(store.memory_dir, target_is_directory=True)
    store.refresh()
    assert store.reindex() == 1


def test_the_trees_themselves_may_be_links_that_the_user_made(tmp_path: Path) -> None:
    (tmp_path / "synced").mkdir()
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "memory").symlink_to(tmp_path / "synced", target_is_directory=True)
    with MemoryStore(tmp_path / "store") as store:
        memory = store.write(type="semantic", title="t", body="word")
        assert store.search("word", mode="words") == [memory]
    assert (tmp_path / "synced" / "semantic" / f"{memory.id}.md").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_in_the_tree_does_not_hang_the_store(store: MemoryStore) -> None:
    store.put(Memory("x", "semantic", "t", "word"))
    os.mkfifo(store.memory_dir / "semantic" / "pipe.md")
    store.refresh()
    assert store.reindex() == 1
    assert len(store.search("word", mode="words")) == 1


def test_a_root_that_is_a_file_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(StoreUnavailable, match="file"):
        MemoryStore(tmp_path / "file")


@pytest.mark.parametrize("name", ["?mode=ro", "100%", "a#b", "ü 😀", "%41"])
def test_a_root_of_any_name_works(tmp_path: Path, name: str) -> None:
    with MemoryStore(tmp_path / name) as store:
        memory = store.write(type="semantic", title="t", body="word")
        assert store.search("word", mode="words") == [memory]
    assert (tmp_path / name / "index.db").exists()


def test_a_named_pipe_in_the_place_of_a_note_hangs_nobody(store: MemoryStore) -> None:
    folder = store.memory_dir / "semantic"
    folder.mkdir(exist_ok=True)
    os.mkfifo(folder / "pipe.md")
    with pytest.raises(AnamnesisError):
        store.get("pipe")
    assert store.refresh().added == 0
