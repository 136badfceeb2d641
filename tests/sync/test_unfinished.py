"""What a git or a sync before left unfinished is brought together, with every version of every note."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.sync.machine import LONG_AGO, Machine, assert_same, settle

from anamnesis.notes import parse


@pytest.fixture
def diverged(a: Machine, b: Machine) -> str:
    """A note that both machines have changed in the same line, on machine a as a commit that was not pushed."""
    note_id = a.note("one\ntwo\nthree")
    settle(a, b)
    b.store.update(note_id, body="one\ntwo of b\nthree")
    b.note("new on b")
    b.sync()
    a.store.update(note_id, body="one\ntwo of a\nthree")
    a.git("add", ".")
    a.git("commit", "--quiet", "-m", "by hand")
    a.git("fetch", "--quiet", "origin")
    return note_id


def assert_whole(a: Machine, b: Machine, note_id: str, *others: str) -> None:
    """Both versions are notes, no file holds markers, and the machines have the same."""
    settle(a, b)
    assert_same(a, b)
    assert a.store.problems() == []
    assert not any(b"<<<<<<<" in data or b">>>>>>>" in data for data in a.files().values())
    bodies = a.bodies()
    assert {"one\ntwo of a\nthree", "one\ntwo of b\nthree", "new on b", *others} == bodies
    assert a.store.get(note_id).body in ("one\ntwo of a\nthree", "one\ntwo of b\nthree")


class TestWithMarkers:
    def test_a_rebase_that_stopped_at_a_conflict(self, a: Machine, b: Machine, diverged: str) -> None:
        a.git("rebase", "origin/main", check=False)
        assert b"<<<<<<<" in b"".join(a.files().values())
        a.note("written since")
        a.sync()
        assert "written since" in a.bodies()
        assert_whole(a, b, diverged, "written since")

    def test_a_rebase_by_patches_that_stopped_at_a_conflict(self, a: Machine, b: Machine, diverged: str) -> None:
        a.git("rebase", "--apply", "origin/main", check=False)
        a.note("written since")
        assert_whole(a, b, diverged, "written since")

    def test_a_rebase_that_had_put_changes_aside(self, a: Machine, b: Machine, diverged: str) -> None:
        other = a.note("committed")
        a.git("add", ".")
        a.git("commit", "--quiet", "-m", "by hand")
        a.store.update(other, body="not committed")
        a.git("rebase", "--autostash", "origin/main", check=False)
        assert "not committed" not in {parse(data.decode()).body for data in a.files().values() if b"<<<<" not in data}
        a.note("written since")
        assert_whole(a, b, diverged, "written since", "not committed")

    def test_a_rebase_by_patches_that_had_put_changes_aside(self, a: Machine, b: Machine, diverged: str) -> None:
        other = a.note("committed")
        a.git("add", ".")
        a.git("commit", "--quiet", "-m", "by hand")
        a.store.update(other, body="not committed")
        a.git("rebase", "--apply", "--autostash", "origin/main", check=False)
        assert_whole(a, b, diverged, "not committed")

    def test_a_merge_that_stopped_at_a_conflict(self, a: Machine, b: Machine, diverged: str) -> None:
        a.git("merge", "origin/main", check=False)
        assert b"<<<<<<<" in b"".join(a.files().values())
        a.note("written since")
        assert_whole(a, b, diverged, "written since")

    def test_a_merge_that_had_put_changes_aside(self, a: Machine, b: Machine, diverged: str) -> None:
        other = a.note("committed")
        a.git("add", ".")
        a.git("commit", "--quiet", "-m", "by hand")
        a.store.update(other, body="not committed")
        a.git("merge", "--autostash", "origin/main", check=False)
        assert (a.folder / ".git" / "MERGE_AUTOSTASH").exists()
        assert_whole(a, b, diverged, "not committed")
        assert not (a.folder / ".git" / "MERGE_AUTOSTASH").exists()

    def test_a_pull_that_stopped_at_a_conflict(self, a: Machine, b: Machine, diverged: str) -> None:
        a.git("pull", "--rebase", "--quiet", "origin", "main", check=False)
        a.git("stash", check=False)
        assert_whole(a, b, diverged)

    def test_a_cherry_pick_that_stopped_at_a_conflict(self, a: Machine, b: Machine, diverged: str) -> None:
        a.git("cherry-pick", "origin/main", check=False)
        assert_whole(a, b, diverged)
        assert not (a.folder / ".git" / "CHERRY_PICK_HEAD").exists()

    def test_a_conflict_that_the_user_had_resolved_is_kept_as_they_resolved_it(
        self, a: Machine, b: Machine, diverged: str
    ) -> None:
        a.git("merge", "origin/main", check=False)
        path = next(path for path, data in a.files().items() if b"<<<<<<<" in data)
        ours = a.git("show", f"HEAD:{path}")
        a.put(path, ours.replace("two of a", "two of a\ntwo of b") + "\n")
        settle(a, b)
        assert_same(a, b)
        assert "one\ntwo of a\ntwo of b\nthree" in a.bodies()

    @pytest.mark.parametrize("is_killed", [False, True])
    @pytest.mark.parametrize("moment", ["2026-01-01T00:00:00+00:00", "2030-01-01T00:00:00+00:00"])
    def test_a_merge_of_a_note_that_both_sides_moved_leaves_both_texts_and_no_markers(
        self, a: Machine, b: Machine, diverged: str, monkeypatch: pytest.MonkeyPatch, moment: str, is_killed: bool
    ) -> None:
        """git takes notes for one another when it looks for moved files and folders, and mixes their texts."""
        a.store.update(diverged, type="procedural")
        monkeypatch.setattr("anamnesis.store.store.utcnow", lambda: moment)
        b.store.update(diverged, type="episodic")
        b.sync()
        a.git("add", ".")
        a.git("commit", "--quiet", "-m", "by hand")
        a.git("fetch", "--quiet")
        a.git("merge", "origin/main", check=False)
        if is_killed:
            a.git("add", ".")  # so far a sync came
        settle(a, b)
        assert_same(a, b)
        texts = b"".join(a.files().values())
        assert b"<<<<<<<" not in texts
        assert all(text in texts for text in (b"two of a", b"two of b", b"new on b"))


class TestWithoutConflict:
    def test_a_rebase_that_was_stopped_at_a_commit(self, a: Machine, b: Machine) -> None:
        ids = []
        for number in range(3):
            ids.append(a.note(f"note {number}"))
            a.sync()
        a.folder.parent.joinpath("edit").write_text("#!/bin/sh\nsed -i 's/^pick/edit/' \"$1\"\n", "utf-8")
        a.folder.parent.joinpath("edit").chmod(0o755)
        a.git("-c", f"sequence.editor={a.folder.parent}/edit", "rebase", "-i", "--root", check=False)
        assert (a.folder / ".git" / "rebase-merge").exists()
        a.note("written since")
        settle(a, b)
        assert b.bodies() == {"note 0", "note 1", "note 2", "written since"}
        assert_same(a, b)

    def test_notes_staged_but_not_committed(self, a: Machine, b: Machine) -> None:
        first = a.note("staged")
        a.sync()
        a.store.update(first, body="staged\nagain")
        a.git("add", ".")
        a.store.update(first, body="staged\nagain\nand changed since")
        (a.folder / "semantic" / "gone.md").write_text("x", "utf-8")
        a.git("add", ".")
        (a.folder / "semantic" / "gone.md").unlink()
        settle(a, b)
        assert b.bodies() == {"staged\nagain\nand changed since"}
        assert_same(a, b)

    def test_a_file_that_git_was_told_to_forget_still_travels(self, a: Machine, b: Machine) -> None:
        a.note("kept")
        settle(a, b)
        a.git("rm", "--quiet", "-r", "--cached", ".")
        settle(a, b)
        assert b.bodies() == {"kept"}
        assert_same(a, b)

    def test_a_branch_that_was_reset_gets_back_what_the_remote_has(self, a: Machine, b: Machine) -> None:
        a.note("one")
        a.sync()
        a.note("two")
        settle(a, b)
        a.git("reset", "--quiet", "--hard", "HEAD~1")
        settle(a, b)
        assert a.bodies() == {"one", "two"}
        assert_same(a, b)


class TestLocks:
    @pytest.mark.parametrize(
        "name",
        [
            "index.lock",
            "HEAD.lock",
            "config.lock",
            "packed-refs.lock",
            "FETCH_HEAD.lock",
            "shallow.lock",
            "refs/heads/main.lock",
            "refs/remotes/origin/main.lock",
            "refs/anamnesis/pending.lock",
            "objects/maintenance.lock",
            "anamnesis.lock",
        ],
    )
    def test_a_lock_that_a_killed_git_left_holds_nothing_up(self, a: Machine, b: Machine, name: str) -> None:
        note_id = a.note("one")
        settle(a, b)
        b.store.update(note_id, body="two")
        b.note("three")
        b.sync()
        a.note("four")
        lock = a.folder / ".git" / name
        lock.parent.mkdir(parents=True, exist_ok=True)
        lock.touch()
        os.utime(lock, (LONG_AGO, LONG_AGO))
        settle(a, b)
        assert a.bodies() == {"two", "three", "four"}
        assert_same(a, b)

    def test_a_lock_left_in_a_remote_on_this_disk_is_not_ours_to_remove(self, a: Machine, remote: Path) -> None:
        a.note("one")
        a.sync()
        lock = remote / "refs" / "heads" / "main.lock"
        lock.touch()
        os.utime(lock, (LONG_AGO, LONG_AGO))
        a.note("two")
        result = a.sync()
        assert (result.pushed, result.reached) == (False, False)
        assert "failed to update ref" in result.detail
        assert lock.exists()
        lock.unlink()
        assert a.sync().pushed

    def test_temporary_files_do_not_travel(self, a: Machine, b: Machine) -> None:
        a.note("one")
        left = a.put("semantic/.x.md.123-0.tmp", "half a no")
        settle(a, b)
        assert left.exists()
        assert [path.name for path in b.folder.rglob("*.tmp")] == []
        assert a.is_clean()
