"""Whatever branches the remote and the folder are on, everything comes together on `main`."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.sync.machine import Machine, assert_same, bare, commit_tree, git, settle, text_of

Make = Callable[..., Machine]


@pytest.mark.parametrize("branch", ["master", "trunk"])
def test_a_remote_with_another_default_branch_is_read_and_gets_main(
    a: Machine, b: Machine, tmp_path: Path, remote: Path, branch: str
) -> None:
    shutil.rmtree(remote)
    commit_tree(bare(remote, branch), [("100644", "semantic/x.md", text_of("x", "on another branch").encode())], branch)
    a.note("mine")
    assert a.sync().pulled == 1
    assert a.bodies() == {"mine", "on another branch"}
    b.sync()
    assert_same(a, b)


def test_of_many_branches_without_main_the_default_one_is_read(a: Machine, remote: Path) -> None:
    for branch in ("attic", "trunk", "zoo"):
        commit_tree(remote, [("100644", f"semantic/{branch}.md", text_of(branch, f"on {branch}").encode())], branch)
    git(remote, "symbolic-ref", "HEAD", "refs/heads/trunk")
    a.sync()
    assert a.bodies() == {"on trunk"}


def test_main_is_read_even_if_another_branch_is_the_default(a: Machine, remote: Path) -> None:
    for branch in ("attic", "main"):
        commit_tree(remote, [("100644", f"semantic/{branch}.md", text_of(branch, f"on {branch}").encode())], branch)
    git(remote, "symbolic-ref", "HEAD", "refs/heads/attic")
    a.sync()
    assert a.bodies() == {"on main"}


def test_a_folder_that_was_on_master_goes_to_main(a: Machine, b: Machine) -> None:
    a.note("committed on master")
    a.git("init", "--quiet", "--initial-branch=master")
    a.git("add", ".")
    a.git("commit", "--quiet", "-m", "by hand")
    a.note("new")
    settle(a, b)
    assert b.bodies() == {"committed on master", "new"}
    assert_same(a, b)


def test_what_is_on_main_is_not_forgotten_by_somebody_who_is_on_master(a: Machine, b: Machine) -> None:
    a.note("on main")
    a.sync()
    a.git("checkout", "--quiet", "--orphan", "master")
    a.git("rm", "--quiet", "-r", "-f", ".")
    a.note("on master")
    a.git("add", ".")
    a.git("commit", "--quiet", "-m", "by hand")
    settle(a, b)
    assert a.bodies() == b.bodies() == {"on main", "on master"}
    assert_same(a, b)


def test_a_detached_head_comes_back_to_main_with_all_notes(a: Machine, b: Machine) -> None:
    a.note("one")
    a.sync()
    a.note("two")
    a.sync()
    a.git("checkout", "--quiet", "--detach", "HEAD~1")
    a.note("written while detached")
    settle(a, b)
    assert a.bodies() == {"one", "two", "written while detached"}
    assert_same(a, b)


def test_a_commit_made_on_a_detached_head_is_taken_along(a: Machine, b: Machine) -> None:
    a.note("one")
    a.sync()
    a.git("checkout", "--quiet", "--detach")
    a.note("committed while detached")
    a.git("add", ".")
    a.git("commit", "--quiet", "-m", "by hand")
    settle(a, b)
    assert b.bodies() == {"one", "committed while detached"}
    assert_same(a, b)


def test_a_clone_that_the_user_made_is_taken_as_it_is(a: Machine, make: Make, remote: Path) -> None:
    a.note("one")
    a.sync()
    b = make("b", remote)
    b.folder.rmdir()
    git(b.store.root, "clone", "--quiet", str(remote), "memory")
    b.note("two")
    settle(a, b)
    assert a.bodies() == {"one", "two"}
    assert_same(a, b)


def test_a_clone_that_the_user_made_can_go_to_another_remote(a: Machine, make: Make, tmp_path: Path) -> None:
    a.note("one")
    a.sync()
    new = bare(tmp_path / "new.git")
    b = make("b", new)
    b.folder.rmdir()
    git(b.store.root, "clone", "--quiet", a.backend.remote or "", "memory")
    b.git("config", "--add", "remote.origin.url", "https://second.example/notes.git")
    b.git("config", "remote.origin.pushurl", "https://push.example/notes.git")
    result = b.sync()
    assert (result.pushed, result.reached) == (True, True)
    assert git(new, "rev-parse", "main") == b.git("rev-parse", "HEAD")


def test_a_shallow_clone_that_the_user_made_is_synced(a: Machine, make: Make, remote: Path) -> None:
    first = a.note("one\ntwo")
    a.sync()
    a.store.update(first, body="ONE\ntwo")
    a.sync()
    b = make("b", remote)
    b.folder.rmdir()
    git(b.store.root, "clone", "--quiet", "--depth=1", f"file://{remote}", "memory")
    b.store.update(first, body="ONE\nTWO")
    a.store.update(first, title="new title")
    settle(a, b)
    assert (a.store.get(first).body, a.store.get(first).title) == ("ONE\nTWO", "new title")
    assert_same(a, b)
