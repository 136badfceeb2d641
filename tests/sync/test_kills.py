"""A sync that is killed at any step leaves nothing that the next one does not finish."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.sync.machine import Machine, assert_same, bare, machine, settle, start_sync, synced

# To be killed at each of the 30 to 50 steps takes minutes: here it is every so many, and `test_machines` tries others.
STRIDE = 6


def two(folder: Path, *, is_large: bool = False) -> tuple[Machine, Machine]:
    remote = folder / "remote.git"
    if not remote.exists():
        bare(remote)
    return machine(folder, "a", remote, is_large=is_large), machine(folder, "b", remote)


def diverged(folder: Path) -> None:
    """Two machines that have changed, deleted, moved and written notes, some of them the same."""
    a, b = two(folder)
    with a.store, b.store:
        ids = {name: a.note("one\ntwo\nthree", title=name) for name in ("same", "apart", "gone", "kept", "moved")}
        a.put("readme.txt", "# Notes\n")
        settle(a, b)
        b.store.update(ids["same"], body="one\ntwo of b\nthree")
        b.store.update(ids["apart"], body="one\ntwo\nthree of b")
        b.store.delete(ids["gone"])
        b.store.delete(ids["kept"])
        b.store.update(ids["moved"], type="procedural")
        b.put("readme.txt", "# Notes of b\n")
        b.note("new on b")
        b.sync()
        a.store.update(ids["same"], body="one\ntwo of a\nthree")
        a.store.update(ids["apart"], body="one of a\ntwo\nthree")
        a.store.update(ids["kept"], body="one\ntwo\nkept")
        a.store.update(ids["moved"], body="one\ntwo\nmoved")
        a.put("readme.txt", "# Notes of a\n")
        a.note("new on a")


def check_diverged(a: Machine, b: Machine) -> None:
    assert a.store.problems() == []
    assert len(a.store.list()) == 7
    assert a.bodies() == {
        "new on a",
        "new on b",
        "one of a\ntwo\nthree of b",
        "one\ntwo of a\nthree",
        "one\ntwo of b\nthree",
        "one\ntwo\nkept",
        "one\ntwo\nmoved",
    }
    assert {b"# Notes of a\n", b"# Notes of b\n"} <= set(a.files().values())


def joining(folder: Path) -> None:
    """A machine with notes and no repository, and a remote with others."""
    a, b = two(folder)
    with a.store, b.store:
        for number in range(3):
            b.note(f"of b {number}")
        b.sync()
        a.note("of a")


def check_joining(a: Machine, b: Machine) -> None:
    assert a.store.problems() == []
    assert sorted(memory.body for memory in a.store.list()) == ["of a", "of b 0", "of b 1", "of b 2"]


def receiving(folder: Path) -> None:
    """A machine with nothing new, and a remote where notes were changed, moved and deleted."""
    a, b = two(folder)
    with a.store, b.store:
        ids = [b.note(f"text {number}") for number in range(4)]
        settle(b, a)
        b.store.update(ids[0], body="changed")
        b.store.update(ids[1], type="episodic")
        b.store.delete(ids[2])
        b.sync()


def check_receiving(a: Machine, b: Machine) -> None:
    assert a.store.problems() == []
    assert sorted(memory.body for memory in a.store.list()) == ["changed", "text 1", "text 3"]
    assert "text 2" in {
        (a.store.root / trashed.path).read_text("utf-8").splitlines()[-1] for trashed in a.store.trashed()
    }


def interrupted(folder: Path) -> None:
    """A merge that stopped at a conflict, with its markers in a note."""
    a, b = two(folder)
    with a.store, b.store:
        note_id = a.note("one\ntwo\nthree")
        settle(a, b)
        b.store.update(note_id, body="one\ntwo of b\nthree")
        b.sync()
        a.store.update(note_id, body="one\ntwo of a\nthree")
        a.git("add", ".")
        a.git("commit", "--quiet", "-m", "by hand")
        a.git("fetch", "--quiet", "origin")
        a.git("merge", "origin/main", check=False)
        a.note("new on a")


def check_interrupted(a: Machine, b: Machine) -> None:
    assert {"new on a", "one\ntwo of a\nthree", "one\ntwo of b\nthree"} <= a.bodies()
    assert not any(b"<<<<<<<" in data for data in a.files().values())


SCENES = [
    (diverged, check_diverged),
    (joining, check_joining),
    (receiving, check_receiving),
    (interrupted, check_interrupted),
]


@pytest.mark.parametrize(("prepare", "check"), SCENES, ids=[prepare.__name__ for prepare, _ in SCENES])
def test_a_sync_killed_at_any_step_is_finished_by_the_next(
    tmp_path: Path,
    prepare: Callable[[Path], None],
    check: Callable[[Machine, Machine], None],
) -> None:
    kill_at_each_step(tmp_path, prepare, check, is_large=False)


def test_a_sync_that_compares_only_changed_files_is_finished_after_a_kill_too(tmp_path: Path) -> None:
    kill_at_each_step(tmp_path, diverged, check_diverged, is_large=True)


def kill_at_each_step(
    tmp_path: Path, prepare: Callable[[Path], None], check: Callable[[Machine, Machine], None], *, is_large: bool
) -> None:
    scene, work = tmp_path / "scene", tmp_path / "work"
    work.mkdir()
    prepare(work)
    shutil.copytree(work, scene, symlinks=True)
    a, _ = two(work, is_large=is_large)
    steps = synced(start_sync(a))
    a.store.close()
    assert steps > 10
    for step in range(1, steps + 1, STRIDE):
        shutil.rmtree(work)
        shutil.copytree(scene, work, symlinks=True)
        a, b = two(work, is_large=is_large)
        with a.store, b.store:
            synced(start_sync(a, kill_at=step))
            settle(a, b)
            assert_same(a, b)
            check(a, b)


def test_an_edit_in_place_that_a_killed_sync_had_taken_up_is_still_found(tmp_path: Path) -> None:
    """It is committed, so that the next sync finds nothing to do; and neither its name nor its folder has changed."""
    a, b = two(tmp_path)
    with a.store, b.store:
        note_id = a.note("walrus")
        settle(a, b)
        path = a.folder / "semantic" / f"{note_id}.md"
        steps = synced(start_sync(a))
        for step in range(1, steps + 10, 3):
            path.write_bytes(path.read_bytes() + f"otter{step}\n".encode())
            synced(start_sync(a, kill_at=step))
            a.sync()
            assert [memory.id for memory in a.store.search(f"otter{step}")] == [note_id]
