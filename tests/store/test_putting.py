"""Notes that replace others: what is kept of the old file, and the cost of a batch."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from tests.waiting import wait_until

from anamnesis import disk
from anamnesis.errors import InvalidNote, NoteConflict
from anamnesis.notes import Memory, render
from anamnesis.store import MemoryStore
from anamnesis.store.faults import leftovers
from anamnesis.store.files import NoteFile, NoteFiles
from anamnesis.store.writing import Writing

FOREIGN: dict[str, Any] = {"engram": {"type": "bugfix", "deleted_at": None}, "extra": {"tags": "aliases:\n- x\n"}}


def note(name: str = "n1", **fields: Any) -> Memory:
    values: dict[str, Any] = {
        "id": name,
        "type": "semantic",
        "title": "t",
        "body": "b",
        "updated_at": "2026-01-01T00:00:00+00:00",
    }
    return Memory(**{**values, **fields})


def put_whole(store: MemoryStore, *notes: Memory) -> list[NoteFile]:
    return store.put_whole(notes, store.files([each.id for each in notes]), follower="bridge").files


def test_a_note_put_without_its_file_keeps_what_others_know_of_it(store: MemoryStore) -> None:
    store.put(note(**FOREIGN))
    store.put(note(body="new"))
    assert store.get("n1") == note(body="new", **FOREIGN)
    store.put_all([note(body="newer")])
    assert store.get("n1") == note(body="newer", **FOREIGN)


@pytest.mark.parametrize("own", [{"engram": {"type": "decision"}}, {"extra": {"tags": "mine: 1\n"}}])
def test_a_note_put_with_front_matter_of_others_keeps_none_of_the_file(store: MemoryStore, own: dict[str, Any]) -> None:
    store.put(note(**FOREIGN))
    store.put(note(**own))
    assert store.get("n1") == note(**own)


def test_a_note_put_whole_keeps_nothing_of_the_file_it_replaces(store: MemoryStore) -> None:
    store.put(note(**FOREIGN))
    store.put(note("n2", extra={"": "mine: 1\n"}, newline="\r\n"))
    put_whole(store, note(body="new"), note("n2"))
    assert [store.get("n1"), store.get("n2")] == [note(body="new"), note("n2")]


def test_notes_put_whole_lose_their_secrets(store: MemoryStore) -> None:
    [written] = put_whole(store, note(body="password = hunter2hunter2hunter2"))
    assert "hunter2" not in Path(store.root, written.path).read_text("utf-8")
    assert written.memory == store.get("n1")


def test_of_one_id_put_whole_stores_the_last(store: MemoryStore) -> None:
    [written] = put_whole(store, note(body="one"), note(body="two"))
    assert written.memory == store.get("n1") == note(body="two")


def test_a_note_put_whole_with_another_type_leaves_no_second_file(store: MemoryStore) -> None:
    store.put(note())
    [written] = put_whole(store, note(type="episodic", scope="machine-local"))
    assert written.path == "local/episodic/n1.md"
    assert [path.name for path in store.root.rglob("n1.md")] == ["n1.md"]
    assert store.problems() == []


def test_a_note_put_whole_replaces_a_renamed_file_where_it_is(store: MemoryStore) -> None:
    store.put(note())
    os.rename(store.memory_dir / "semantic" / "n1.md", store.memory_dir / "semantic" / "named.md")
    [written] = put_whole(store, note(body="new"))
    assert written.path == "memory/semantic/named.md"
    assert store.count() == 1


def test_one_note_that_cannot_be_stored_leaves_the_others_unwritten(store: MemoryStore) -> None:
    with pytest.raises(InvalidNote):
        put_whole(store, note(), note("n2", title=" "))
    assert list(store.memory_dir.rglob("*.md")) == []


def test_an_unreadable_file_is_not_written_over_by_any_of_a_batch(store: MemoryStore) -> None:
    store.put(note())
    broken = store.memory_dir / "semantic" / "n1.md"
    broken.write_text("---\nno front matter", "utf-8")
    with pytest.raises(InvalidNote, match=r"n1\.md"):
        put_whole(store, note("n2"), note(body="new"))
    assert broken.read_text("utf-8") == "---\nno front matter"
    assert store.count(type="semantic") <= 1
    assert not (store.memory_dir / "semantic" / "n2.md").exists()


def test_nothing_put_changes_nothing(store: MemoryStore) -> None:
    assert put_whole(store) == []
    assert store.put_all([]) == 0


def test_a_batch_gives_one_step_for_each_folder_it_changed(tmp_path: Path) -> None:
    files = NoteFiles(tmp_path)
    first = Writing(
        files, {"memory/semantic/n0.md": note("n0"), "memory/episodic/e0.md": note("e0", type="episodic")}, {}
    )
    first.finish()
    former = {file.path: file for file in first.files}
    before = {folder: files.folder_time(folder) for folder in ("memory/semantic", "memory/episodic")}
    batch = {f"memory/semantic/n{number}.md": note(f"n{number}") for number in range(5)}
    writing = Writing(files, {**batch, "memory/episodic/e0.md": note("e0", type="episodic")}, former)
    assert [file.path for file in writing.files] == [*batch, "memory/episodic/e0.md"]
    assert {(step.folder, step.before, step.after) for step in writing.finish()} == {
        (folder, time, files.folder_time(folder)) for folder, time in before.items()
    }


def test_a_note_enters_its_folder_whole(tmp_path: Path) -> None:
    """Nobody who lists or watches the folder sees a temporary file, and those of killed writes are found."""
    files = NoteFiles(tmp_path)
    writing = Writing(files, {"memory/semantic/n.md": note("n")}, {})
    assert [path for path in (tmp_path / "memory").rglob("*") if path.is_file()] == []
    assert [PurePosixPath(path).name.split(".md.")[0] for path in leftovers(tmp_path)] == [".n"]
    writing.finish()
    assert [path.name for path in (tmp_path / "memory").rglob("*") if path.is_file()] == ["n.md"]
    assert leftovers(tmp_path) == []


def test_a_note_that_is_removed_while_it_is_flushed_is_no_error(store: MemoryStore) -> None:
    files = put_whole(store, note("n1"), note("n2"))
    (store.root / files[0].path).unlink()
    store.secure(files)


def test_a_folder_that_somebody_else_changes_during_a_batch_gives_no_step(tmp_path: Path) -> None:
    """The batch itself is interrupted by another program, between two notes that are put in place."""

    class Meddling(dict[str, NoteFile]):
        def get(self, path, default=None):  # type: ignore[no-untyped-def]
            other = tmp_path / "memory" / "semantic" / f"other-{PurePosixPath(path).name}"
            other.write_text(render(note("other")), "utf-8")
            os.utime(other.parent, ns=(1, len(path)))
            return super().get(path, default)

    files = NoteFiles(tmp_path)
    Writing(files, {"memory/semantic/n.md": note("n")}, {}).finish()
    batch = {f"memory/semantic/n{number}.md": note(f"n{number}") for number in range(3)}
    assert Writing(files, batch, Meddling()).finish() == []


def test_others_files_are_found_after_a_batch(store: MemoryStore, tmp_path: Path) -> None:
    put_whole(store, note())
    folder = store.memory_dir / "semantic"
    os.utime(folder, ns=(0, 0))  # changes within one tick of the clock that stamps files cannot be told apart
    store.refresh()
    (folder / "theirs.md").write_text(render(note("theirs")), "utf-8")
    put_whole(store, note("n2"))
    assert {memory.id for memory in store.list()} == {"n1", "n2", "theirs"}


@pytest.mark.parametrize("line", ["A late line.\n", ""])
def test_what_an_editor_writes_to_a_file_that_it_had_open_is_not_lost(
    store: MemoryStore, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It opens the file before a change replaces it, and writes afterwards, or nothing at all."""
    monkeypatch.setattr(disk, "_WRITER_SECONDS", 60.0)
    note = store.write(type="semantic", title="Title", body="body")
    path = store.memory_dir / f"semantic/{note.id}.md"
    before = path.stat().st_ino
    with ThreadPoolExecutor() as pool:
        with path.open("a") as editor:
            update = pool.submit(store.update, note.id, title="Changed")
            wait_until(lambda: path.stat().st_ino != before)
            editor.write(line)
        if line:
            with pytest.raises(NoteConflict):
                update.result()
    assert path.read_text().endswith(f"body\n{line}")
    assert store.get(note.id).title == ("Title" if line else "Changed")


def test_an_open_file_that_was_replaced_is_put_back_when_another_note_of_the_batch_has_changed(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch that ends at a conflict still has to look after the files that it replaced before."""
    monkeypatch.setattr(disk, "_WRITER_SECONDS", 60.0)
    one, two = (store.write(type="semantic", title=title, body="body") for title in ("one", "two"))
    former = {each.id: store.file(each.id) for each in (one, two)}
    paths = [store.memory_dir / f"semantic/{each.id}.md" for each in (one, two)]
    paths[1].write_text(paths[1].read_text() + "An edit.\n")
    before = paths[0].stat().st_ino
    changed = [replace(each, title="Changed") for each in (one, two)]
    with ThreadPoolExecutor() as pool:
        with paths[0].open("a") as editor:
            update = pool.submit(store.put_whole, changed, former, follower="tests")
            wait_until(lambda: paths[0].stat().st_ino != before or update.done())
            editor.write("A late line.\n")
        with pytest.raises(NoteConflict):
            update.result()
    assert paths[0].read_text().endswith("body\nA late line.\n")
    assert paths[1].read_text().endswith("body\nAn edit.\n")
