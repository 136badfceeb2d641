"""Concurrent saves by other programs are never overwritten or lost, nor are notes when the system refuses a write."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.disks import another_disk

from anamnesis.disk import sync_files
from anamnesis.errors import NoteConflict, StoreUnavailable
from anamnesis.notes import Memory, render
from anamnesis.store import MemoryStore, writing


@pytest.fixture
def path(store: MemoryStore) -> Path:
    """The file of a note `x`."""
    store.put(Memory("x", "semantic", "t", "before"))
    return store.memory_dir / "semantic" / "x.md"


def meddle(monkeypatch: pytest.MonkeyPatch, path: Path, body: str) -> None:
    """An editor saves a file while a write waits for the disk."""

    def meanwhile(paths: Sequence[Path]) -> None:
        path.write_text(render(Memory("x", "semantic", "t", body)), "utf-8")
        sync_files(paths)

    monkeypatch.setattr(writing, "sync_files", meanwhile)


class TestAnEditorAtTheSameMoment:
    def test_what_it_saved_is_not_written_over(
        self, store: MemoryStore, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        meddle(monkeypatch, path, "of the editor")
        with pytest.raises(NoteConflict, match=r"has just changed memory/semantic/x\.md\. Try again"):
            store.update("x", body="of ours")
        assert store.get("x").body == "of the editor"
        assert [*store.memory_dir.rglob(".*")] == []
        monkeypatch.undo()
        assert [note.body for note in store.search("editor", mode="words")] == ["of the editor"]
        assert store.update("x", body="of ours").body == "of ours"

    def test_a_file_that_came_up_in_the_place_of_a_new_note_stays(
        self, store: MemoryStore, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = path.with_name("y.md")
        meddle(monkeypatch, other, "of the editor")
        with pytest.raises(NoteConflict):
            store.put(Memory("y", "semantic", "t", "of ours"))
        assert "of the editor" in other.read_text("utf-8")

    def test_a_file_that_it_saved_during_a_move_is_where_it_was(
        self, store: MemoryStore, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        meddle(monkeypatch, path, "of the editor")
        with pytest.raises(NoteConflict):
            store.update("x", type="procedural")
        assert [*store.memory_dir.rglob("*.md")] == [path]
        assert store.get("x").body == "of the editor"

    def test_the_others_of_a_batch_are_found(
        self, store: MemoryStore, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        meddle(monkeypatch, path, "of the editor")
        notes = [Memory(f"n{number}", "semantic", "t", "new") for number in range(9)]
        with pytest.raises(NoteConflict):
            store.put_all([*notes, Memory("x", "semantic", "t", "of ours")])
        assert store.get("x").body == "of the editor"
        assert len(store.search("new", k=20, mode="words")) == 9


class TestAFolderCalledLikeANote:
    def test_it_is_no_note_and_in_nobodys_way(self, store: MemoryStore, path: Path) -> None:
        folder = path.with_name("y.md")
        folder.mkdir()
        (folder / "z.md").write_text(render(Memory("z", "semantic", "t", "inside")), "utf-8")
        store.refresh_files(["memory/semantic/y.md"])
        assert [note.id for note in store.search("inside", mode="words")] == ["z"]
        assert store.find("y") is None
        store.put(Memory("y", "semantic", "t", "beside"))
        assert store.get("y").body == "beside"
        assert store.problems() == []


class TestNotesOnAnotherDisk:
    """The folder of the notes may be a link to wherever the user likes."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[MemoryStore]:
        with tempfile.TemporaryDirectory(dir=another_disk(tmp_path)) as elsewhere:
            (tmp_path / "memory").symlink_to(elsewhere)
            with MemoryStore(tmp_path) as store:
                yield store

    def test_a_note_is_deleted_and_restored(self, store: MemoryStore, path: Path) -> None:
        before = path.read_bytes(), path.stat().st_mtime_ns
        store.delete("x")
        assert not path.exists()
        assert store.search("before", mode="words") == []
        store.restore("x")
        assert (path.read_bytes(), path.stat().st_mtime_ns) == before
        assert [note.id for note in store.search("before", mode="words")] == ["x"]

    def test_a_note_moves_to_this_machine_and_back(self, store: MemoryStore, path: Path) -> None:
        store.move("x", "machine-local")
        assert [*store.local_dir.rglob("*.md")] == [store.local_dir / "semantic" / "x.md"]
        assert not path.exists()
        store.move("x", "portable")
        assert path.exists()
        assert [*store.local_dir.rglob("*.md")] == []
        assert [note.id for note in store.search("before", mode="words")] == ["x"]


class TestWhatTheSystemRefuses:
    def test_a_trash_that_cannot_be_made_is_said_in_a_sentence(self, store: MemoryStore, path: Path) -> None:
        (store.root / "trash").write_text("in the way")
        with pytest.raises(StoreUnavailable, match=r"^Cannot move to the trash .*x\.md: File exists"):
            store.delete("x")
        assert store.get("x").body == "before"

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is closed to root")
    def test_a_note_stays_where_it_is_if_it_cannot_be_moved(self, store: MemoryStore, path: Path) -> None:
        path.parent.chmod(0o500)
        try:
            with pytest.raises(StoreUnavailable):
                store.update("x", type="procedural")
        finally:
            path.parent.chmod(0o700)
        assert [*store.memory_dir.rglob("*.md")] == [path]
