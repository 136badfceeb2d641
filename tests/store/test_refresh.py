"""Changes of files by other programs are seen by the next opening, by refresh, and by a search that hits the file."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anamnesis.disk import sync_files
from anamnesis.errors import NoteNotFound
from anamnesis.notes import Memory
from anamnesis.store import MemoryStore, RefreshCounts, faults, writing
from anamnesis.store.files import Folder, NoteFile, NoteFiles
from anamnesis.store.index import Connection
from anamnesis.store.refresh import refresh

NOTHING = RefreshCounts(0, 0, 0)


def text(note: str, body: str, updated_at: str = "2026-01-01", type: str = "semantic") -> str:
    return f"---\nid: {note}\ntype: {type}\ntitle: t\nupdated_at: {updated_at}\n---\n{body}\n"


def replace_file(path: Path, content: str) -> None:
    """As git and most editors do it: a new file takes the name of the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.part")
    temporary.write_text(content, "utf-8")
    temporary.replace(path)


def found(store: MemoryStore, query: str) -> list[str]:
    return sorted(memory.id for memory in store.search(query, k=1000, mode="words"))


def assert_index_is_files(root: Path) -> None:
    """A newly opened store has exactly the content of a rebuilt index."""
    with MemoryStore(root) as store:
        seen, problems = store.list(), store.problems()
        assert store.refresh() == NOTHING
        store.reindex()
        assert (seen, problems) == (store.list(), store.problems())


@pytest.fixture
def path(store: MemoryStore) -> Path:
    """The file of a note `x` that the store knows."""
    store.put(Memory("x", "semantic", "t", "before common"))
    return store.memory_dir / "semantic" / "x.md"


def test_an_edit_in_place_is_seen_by_the_next_search_that_hits_it(store: MemoryStore, path: Path) -> None:
    path.write_text(text("x", "after common"), "utf-8")
    assert [memory.body for memory in store.search("common", mode="words")] == ["after common"]
    assert found(store, "after") == ["x"]
    assert found(store, "before") == []


def test_an_edit_that_takes_the_word_out_takes_the_note_out(store: MemoryStore, path: Path) -> None:
    path.write_text(text("x", "nothing of it"), "utf-8")
    assert store.search("common", mode="words") == []
    assert found(store, "nothing") == ["x"]


def test_an_edit_in_place_is_seen_by_refresh(store: MemoryStore, path: Path) -> None:
    path.write_text(text("x", "after"), "utf-8")
    assert store.refresh() == RefreshCounts(added=0, updated=1, removed=0)
    assert found(store, "after") == ["x"]
    assert store.list()[0].body == "after"
    assert store.refresh() == NOTHING


def test_get_always_reads_the_file_as_it_is(store: MemoryStore, path: Path) -> None:
    path.write_text(text("x", "after"), "utf-8")
    assert store.get("x").body == "after"


def test_a_file_of_unchanged_content_and_new_time_changes_nothing(store: MemoryStore, path: Path) -> None:
    before = store.list()
    os.utime(path, ns=(1, 1))
    assert store.refresh() == RefreshCounts(added=0, updated=1, removed=0)
    assert store.refresh() == NOTHING
    assert store.list() == before


def test_added_replaced_and_removed_files_are_seen_by_the_next_opening(store: MemoryStore, path: Path) -> None:
    store.put(Memory("gone", "semantic", "t", "common"))
    replace_file(path, text("x", "after common"))
    replace_file(store.memory_dir / "episodic" / "new.md", text("new", "common", type="episodic"))
    (store.memory_dir / "semantic" / "gone.md").unlink()
    with MemoryStore(store.root) as again:
        assert found(again, "common") == ["new", "x"]
        assert found(again, "after") == ["x"]
        assert found(again, "before") == []
        with pytest.raises(NoteNotFound):
            again.get("gone")
    assert_index_is_files(store.root)


def test_a_missing_file_does_not_kill_a_search_and_the_index_is_mended(store: MemoryStore) -> None:
    for name in ("a", "b", "c"):
        store.put(Memory(name, "semantic", "t", "common"))
    (store.memory_dir / "semantic" / "b.md").unlink()
    assert found(store, "common") == ["a", "c"]
    assert store.count() == 2
    assert store.refresh() == NOTHING


def test_eight_hits_are_found_behind_eight_missing_files(store: MemoryStore) -> None:
    store.put_all(Memory(f"n{n}", "semantic", "t", "common " * (20 - n)) for n in range(20))
    best = store.search("common", mode="words")
    for memory in best:
        (store.memory_dir / "semantic" / f"{memory.id}.md").unlink()
    assert len(store.search("common", mode="words")) == 8
    assert store.count() == 12


def test_a_file_moved_between_the_trees_changes_its_scope(store: MemoryStore, path: Path) -> None:
    target = store.local_dir / "semantic" / "x.md"
    target.parent.mkdir()
    path.rename(target)
    with MemoryStore(store.root) as again:
        assert [memory.scope for memory in again.list()] == ["machine-local"]
        assert again.search("common", scope="portable", mode="words") == []
        assert again.get("x").scope == "machine-local"
    target.rename(path)
    with MemoryStore(store.root) as again:
        assert [memory.scope for memory in again.search("common", mode="words")] == ["portable"]
    assert_index_is_files(store.root)


def test_the_tree_wins_over_the_scope_in_the_front_matter(store: MemoryStore, path: Path) -> None:
    path.write_text(text("x", "b").replace("title:", "scope: machine-local\ntitle:"), "utf-8")
    store.refresh()
    assert store.get("x").scope == store.list()[0].scope == "portable"
    store.update("x", body="c")
    assert "\nscope: portable\n" in path.read_text("utf-8")


def test_a_renamed_folder_keeps_its_notes(store: MemoryStore, path: Path) -> None:
    path.parent.rename(path.parent.with_name("archive"))
    with MemoryStore(store.root) as again:
        assert found(again, "common") == ["x"]
        assert again.update("x", body="after").body == "after"
        assert [file.name for file in (store.memory_dir / "archive").iterdir()] == ["x.md"]
    assert_index_is_files(store.root)


def test_a_removed_folder_takes_its_notes_with_it(store: MemoryStore, path: Path) -> None:
    store.put(Memory("other", "episodic", "t", "common"))
    shutil.rmtree(path.parent)
    with MemoryStore(store.root) as again:
        assert found(again, "common") == ["other"]
        again.put(Memory("x", "semantic", "t", "common again"))
        assert found(again, "common") == ["other", "x"]
    assert_index_is_files(store.root)


def test_folders_within_folders_are_read_at_any_depth(store: MemoryStore, path: Path) -> None:
    replace_file(store.memory_dir / "a" / "b" / "c" / "d" / "deep.md", text("deep", "common"))
    with MemoryStore(store.root) as again:
        assert found(again, "common") == ["deep", "x"]
    replace_file(store.memory_dir / "a" / "b" / "c" / "e" / "deeper.md", text("deeper", "common"))
    with MemoryStore(store.root) as again:
        assert found(again, "common") == ["deep", "deeper", "x"]
    shutil.move(store.memory_dir / "a" / "b", store.memory_dir / "b")
    with MemoryStore(store.root) as again:
        assert found(again, "common") == ["deep", "deeper", "x"]
    assert_index_is_files(store.root)


@pytest.mark.parametrize("seen_missing", [False, True])
def test_a_tree_that_was_away_and_came_back_is_read_again(store: MemoryStore, path: Path, seen_missing: bool) -> None:
    away = store.root / "away"
    store.memory_dir.rename(away)
    if seen_missing:
        store.refresh()
        assert store.count() == 0
    away.rename(store.memory_dir)
    with MemoryStore(store.root) as again:
        assert found(again, "common") == ["x"]


def test_a_store_whose_tree_was_removed_can_be_written_to(store: MemoryStore, path: Path) -> None:
    shutil.rmtree(store.memory_dir)
    store.put(Memory("y", "semantic", "t", "common"))
    with MemoryStore(store.root) as again:
        assert found(again, "common") == ["y"]


def test_a_file_that_another_program_adds_while_we_write_is_seen_by_the_next_opening(
    store: MemoryStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.utime(path.parent, ns=(0, 0))  # changes within one tick of the clock that stamps files cannot be told apart
    MemoryStore(store.root).close()

    def meanwhile(paths: Sequence[Path]) -> None:
        replace_file(path.with_name("theirs.md"), text("theirs", "common"))
        os.utime(path.parent, ns=(0, 1_000_000_000))
        sync_files(paths)

    monkeypatch.setattr(writing, "sync_files", meanwhile)
    store.put(Memory("ours", "semantic", "t", "common"))
    with MemoryStore(store.root) as again:
        assert found(again, "common") == ["ours", "theirs", "x"]


@pytest.mark.usefixtures("path")
def test_a_folder_is_not_listed_again_because_of_a_note_that_was_written_meanwhile(store: MemoryStore) -> None:
    """Listing many thousand files takes long, and repeating it would hold the lock that writers wait for."""
    written: list[Memory] = []

    def read_then_write(query: Callable[[Connection], object]) -> object:
        answer = store._index.read(query)
        if not written:
            written.append(store.write(type="semantic", title="meanwhile", body="b"))
        return answer

    store.refresh()  # records the folder
    refresh(read_then_write, store._index.write, store._files)
    assert not store._index.is_outdated()
    assert found(store, "meanwhile") == [written[0].id]


def test_a_file_that_goes_while_its_folder_is_listed_takes_no_other_along(
    store: MemoryStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put(Memory("y", "semantic", "t", "common"))
    going = path.with_name("going.md")
    going.write_text(text("going", "common"), "utf-8")
    listed = os.scandir

    def list_then_remove(folder: Path) -> contextlib.nullcontext[list[os.DirEntry[str]]]:
        with listed(folder) as entries:
            found = [*entries]
        if folder == path.parent:
            going.unlink(missing_ok=True)
        return contextlib.nullcontext(found)

    monkeypatch.setattr(os, "scandir", list_then_remove)
    store.refresh()
    monkeypatch.undo()
    assert found(store, "common") == ["x", "y"]
    assert_index_is_files(store.root)


def test_a_folder_that_goes_and_comes_back_while_it_is_looked_at_keeps_its_notes(
    store: MemoryStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = store.root / "away"
    path.parent.rename(away)
    listing = NoteFiles.list_folder

    def list_then_bring_back(files: NoteFiles, folder: str) -> Folder | None:
        seen = listing(files, folder)
        if folder == "memory":
            away.rename(path.parent)
        return seen

    monkeypatch.setattr(NoteFiles, "list_folder", list_then_bring_back)
    store.refresh()
    monkeypatch.undo()
    with MemoryStore(store.root) as again:
        assert found(again, "common") == ["x"]
    assert_index_is_files(store.root)


def test_a_file_that_is_still_being_written_when_it_is_first_seen_is_read_again(store: MemoryStore, path: Path) -> None:
    whole = text("slow", "common")
    slow = path.with_name("slow.md")
    slow.write_text(whole[:20], "utf-8")
    store.refresh()
    assert [problem.path for problem in store.problems()] == ["memory/semantic/slow.md"]
    slow.write_text(whole, "utf-8")
    with MemoryStore(store.root) as again:
        assert found(again, "common") == ["slow", "x"]
        assert again.problems() == []


def test_a_file_that_is_written_on_while_it_is_entered_is_read_again(
    store: MemoryStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = path.with_name("slow.md")
    slow.write_text(text("slow", "common"), "utf-8")
    reading = NoteFiles.read

    def read_then_write_on(files: NoteFiles, name: str) -> NoteFile | None:
        file = reading(files, name)
        if name.endswith("slow.md"):
            slow.write_text(text("slow", "common, and more"), "utf-8")
        return file

    monkeypatch.setattr(NoteFiles, "read", read_then_write_on)
    store.refresh()
    monkeypatch.undo()
    with MemoryStore(store.root) as again:
        assert found(again, "common") == ["slow", "x"]


def test_a_folder_that_cannot_be_listed_is_in_nobodys_way(
    store: MemoryStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = path.parent / "closed"
    replace_file(closed / "inside" / "y.md", text("y", "common"))
    store.refresh()
    replace_file(closed / "new.md", text("new", "common"))
    replace_file(path.with_name("z.md"), text("z", "common"))
    listed = os.scandir

    def refuse(folder: Path | str) -> Any:
        if Path(folder) == closed:  # by a mode that root need not care about
            raise PermissionError(errno.EACCES, "Permission denied", str(folder))
        return listed(folder)

    monkeypatch.setattr(os, "scandir", refuse)
    store.refresh()
    assert found(store, "common") == ["x", "y", "z"]
    store.reindex()
    assert found(store, "common") == ["x", "z"]
    assert faults.unlistable(store.root) == ["memory/semantic/closed"]
    monkeypatch.undo()
    assert faults.unlistable(store.root) == []
    with MemoryStore(store.root) as again:
        assert found(again, "common") == ["new", "x", "y", "z"]


NAMES = st.sampled_from(["semantic/a.md", "semantic/x.md", "deep/er/c.md"])
CONTENTS = st.builds(
    text,
    st.sampled_from(["x", "x", "x", "a"]),
    st.sampled_from(["one", "two"]),
    st.sampled_from(["2026-01-01", "2026-01-02", "2026-01-03"]),
) | st.just("# README\n")
EDITS = st.tuples(st.sampled_from(["edit", "replace"]), NAMES, CONTENTS)
STEPS = st.one_of(
    EDITS,
    EDITS,
    st.tuples(st.just("remove"), NAMES, st.just("")),
    st.tuples(st.sampled_from(["rename", "localise"]), NAMES, NAMES),
)


def act(store: MemoryStore, moment: int, action: str, name: str, other: str) -> None:
    """Do a step. What it writes has a time of its own: texts of one size within one tick could not be told apart."""
    path = store.memory_dir / name
    if action == "edit":
        path.write_text(other, "utf-8")
        os.utime(path, ns=(0, moment))
    elif action == "replace":
        replace_file(path, other)
        os.utime(path, ns=(0, moment))
    elif action == "remove":
        path.unlink(missing_ok=True)
    elif path.exists():
        path.replace((store.memory_dir if action == "rename" else store.local_dir) / other)


def age(root: Path) -> None:
    """Make every folder look old: one that changed just now would be waited for."""
    for folder, *_ in os.walk(root):
        os.utime(folder, ns=(0, 0))


def known(store: MemoryStore) -> tuple[object, ...]:
    return store.list(), store.problems(), found(store, "one two"), store.stats()


@given(st.lists(STEPS, min_size=4, max_size=12))
def test_refreshes_end_where_a_reindex_ends(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, str]]
) -> None:
    root = tmp_path_factory.mktemp("store")
    for folder in ("memory/semantic", "memory/deep/er", "local/semantic", "local/deep/er"):
        (root / folder).mkdir(parents=True)
    age(root)
    with MemoryStore(root) as store:
        for moment, step in enumerate(steps, 1):
            act(store, moment * 1_000_000_000, *step)
            age(root)
            store.refresh()
        assert store.refresh() == NOTHING
        refreshed = known(store)
        store.reindex()
        assert refreshed == known(store)


def test_a_file_renamed_a_moment_ago_is_found_and_rewritten_where_it_is(store: MemoryStore, path: Path) -> None:
    assert store.get("x").id == "x"
    moved = path.with_name("renamed.md")
    path.rename(moved)
    assert store.get("x").id == "x"
    moved.rename(path.with_name("again.md"))
    store.put(replace(store.get("x"), title="new"))
    assert [each.name for each in path.parent.glob("*.md")] == ["again.md"]
