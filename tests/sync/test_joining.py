"""Private notes go only to a repository of notes, and no other repository's files come among them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.sync.machine import Machine, assert_same, bare, commit_tree, everything_in, git, settle, text_of

Make = Callable[..., Machine]
APPLICATION = [("100644", "README.md", b"# App\n"), ("100644", "src/app.py", b"print()\n")]


def note_of(name: str) -> tuple[str, str, bytes]:
    return "100644", f"semantic/{name}.md", text_of(name, f"text of {name}").encode()


def assert_refused(machine: Machine, remote: Path, *, named: str = "src/app.py") -> None:
    """A sync commits here, changes neither the remote nor a file, and says in one sentence what to do."""
    there, here = everything_in(remote), machine.files()
    result = machine.sync()
    assert (result.reached, result.pushed, result.pulled, result.conflicted) == (False, False, 0, False)
    assert result.detail.removeprefix("committed locally; ") == (
        f"nothing was sent to or received from {remote}, which is not a repository of notes (it holds {named}):"
        " set another `remote`, or run `anamnesis sync --adopt` to join it anyway"
    )
    assert everything_in(remote) == there
    assert machine.files() == here
    assert machine.is_clean()


class TestRefused:
    def test_an_application(self, a: Machine, remote: Path) -> None:
        commit_tree(remote, APPLICATION)
        a.note("private")
        assert_refused(a, remote)
        assert_refused(a, remote)
        a.note("more")
        assert_refused(a, remote)

    def test_an_application_by_a_machine_without_notes(self, a: Machine, remote: Path) -> None:
        commit_tree(remote, APPLICATION)
        assert_refused(a, remote)
        a.note("private")
        assert_refused(a, remote)

    def test_an_application_on_master(self, make: Make, tmp_path: Path) -> None:
        remote = bare(tmp_path / "app.git", "master")
        commit_tree(remote, APPLICATION, "master")
        a = make("a", remote)
        a.note("private")
        assert_refused(a, remote)

    def test_an_application_beside_a_main_branch_with_a_readme(self, a: Machine, remote: Path) -> None:
        commit_tree(remote, APPLICATION[:1])
        commit_tree(remote, APPLICATION, "develop")
        a.note("private")
        assert_refused(a, remote)

    def test_markdown_that_is_in_no_folder_of_notes(self, a: Machine, remote: Path) -> None:
        commit_tree(remote, [("100644", "docs/guide.md", b"# Guide\n"), note_of("x")])
        a.note("private")
        assert_refused(a, remote, named="docs/guide.md")

    def test_an_application_in_place_of_the_notes(self, a: Machine, b: Machine, remote: Path) -> None:
        a.note("one")
        settle(a, b)
        shutil.rmtree(remote)
        commit_tree(bare(remote), APPLICATION)
        a.note("two")
        assert_refused(a, remote)
        assert_refused(b, remote)

    def test_an_application_at_another_address(self, a: Machine, make: Make, tmp_path: Path) -> None:
        a.note("one")
        a.sync()
        other = bare(tmp_path / "app.git")
        commit_tree(other, APPLICATION)
        moved = make("a", other)
        assert_refused(moved, other)
        assert make("a", a.backend.remote).sync().reached

    def test_an_application_that_was_joined_by_mistake_and_taken_back(self, make: Make, remote: Path) -> None:
        """Its history is in that of the notes by then, and no commit of a sync is in its own."""
        commit_tree(remote, APPLICATION)
        before = git(remote, "rev-parse", "main")
        a = make("a", remote, adopt=True)
        a.note("private")
        assert a.sync().pushed
        git(remote, "update-ref", "refs/heads/main", before)
        a.git("config", "--unset", "remote.origin.adopted")
        a.note("more")
        assert_refused(make("a", remote), remote)

    def test_an_application_in_which_the_notes_were_reverted(self, make: Make, remote: Path) -> None:
        commit_tree(remote, APPLICATION)
        a = make("a", remote, adopt=True)
        a.note("private")
        a.sync()
        commit_tree(remote, APPLICATION)
        b = make("b", remote)
        b.note("private too")
        assert_refused(b, remote)

    def test_a_name_that_is_no_text(self, a: Machine, remote: Path) -> None:
        commit_tree(remote, [("100644", "x\n\x1b[31m" + "y" * 300, b"")])
        detail = a.sync().detail
        assert detail.isprintable()
        assert len(detail) < 400


class TestJoined:
    @pytest.mark.parametrize(
        "names",
        [
            ["README.md"],
            ["readme", "LICENSE", ".gitignore", ".gitattributes"],
            ["README.rst", "LICENCE.txt", "COPYING", "NOTICE.md"],
            ["semantic/.gitkeep", "episodic/.gitkeep"],
        ],
    )
    def test_what_a_host_makes_of_a_new_repository(self, a: Machine, remote: Path, names: list[str]) -> None:
        commit_tree(remote, [("100644", name, b"text\n") for name in names])
        a.note("one")
        assert a.sync().pushed
        assert {*names} <= a.files().keys()

    def test_notes_that_were_put_there_by_hand(self, a: Machine, remote: Path) -> None:
        commit_tree(remote, [note_of("x"), ("100644", "README.md", b"# Notes\n")])
        a.note("one")
        assert a.sync().pushed
        assert a.bodies() == {"one", "text of x"}

    def test_a_repository_of_notes_with_other_files_in_it(self, make: Make, a: Machine, remote: Path) -> None:
        """As an older version pushed it, with an image and what Obsidian keeps."""
        a.note("one")
        a.put(".obsidian/app.json", "{}")
        a.put("images/x.png", b"\x89PNG")
        a.sync()
        new, third = make("b", remote), make("c", remote)
        new.note("of a new machine")
        settle(a, new, third)
        assert_same(a, new, third)
        assert "images/x.png" in third.files()

    def test_notes_beside_a_branch_of_something_else(self, a: Machine, b: Machine, remote: Path) -> None:
        a.note("one")
        a.sync()
        commit_tree(remote, APPLICATION, "site")
        b.note("two")
        settle(a, b)
        assert_same(a, b)

    def test_other_files_that_come_later(self, a: Machine, b: Machine, remote: Path) -> None:
        a.note("one")
        settle(a, b)
        b.put("script.sh", "ls\n")
        b.note("two")
        a.note("three")
        settle(b, a)
        assert_same(a, b)

    def test_an_application_that_is_adopted(self, make: Make, remote: Path) -> None:
        """Adopting it once is enough, for this machine and for all others."""
        commit_tree(remote, APPLICATION)
        make("a", remote).note("private")
        assert make("a", remote, adopt=True).sync().pushed
        a, b = make("a", remote), make("b", remote)
        a.note("more")
        b.note("of b")
        settle(a, b)
        assert_same(a, b)
        assert "src/app.py" in b.files()

    def test_an_adopted_application_gets_notes_later(self, make: Make, remote: Path) -> None:
        commit_tree(remote, APPLICATION)
        assert make("a", remote, adopt=True).sync().reached
        a = make("a", remote)
        a.note("first")
        commit_tree(remote, [*APPLICATION, ("100644", "setup.py", b"")])
        assert a.sync().pushed

    def test_adopting_one_address_does_not_adopt_the_next(self, make: Make, remote: Path, tmp_path: Path) -> None:
        commit_tree(remote, APPLICATION)
        make("a", remote, adopt=True).sync()
        other = bare(tmp_path / "other.git")
        commit_tree(other, [("100644", "main.c", b"")])
        assert_refused(make("a", other), other, named="main.c")
