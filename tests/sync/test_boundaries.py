"""No remote can make a machine write, link or run anything outside its notes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.disks import another_disk
from tests.sync.machine import Machine, assert_same, commit_tree, everything_in, git, settle, text_of

from anamnesis.errors import AnamnesisError, StoreUnavailable
from anamnesis.store import faults

Make = Callable[..., Machine]


def surroundings(a: Machine) -> dict[str, bytes | None]:
    """All that is around the notes: in the store, beside it, and in git's own folder what it runs."""
    here = everything_in(a.store.root.parent)
    own = ("a/index.db", "a/store.lock", "a/anamnesis.log", "a/memory/semantic", "remote.git")
    git_owns = ("objects", "refs", "logs", "index", "HEAD", "ORIG_HEAD", "FETCH_HEAD", "packed-refs", "anamnesis")
    return {
        path: data
        for path, data in here.items()
        if not path.startswith(own) and not path.startswith(tuple(f"a/memory/.git/{name}" for name in git_owns))
    }


@pytest.fixture
def a(make: Make, remote: Path) -> Machine:
    """A machine that joins a remote whatever it holds."""
    return make("a", remote, adopt=True)


class TestHostileTrees:
    @pytest.mark.parametrize(
        "path",
        [
            "../evil.md",
            "semantic/../../evil.md",
            "/evil.md",
            "./evil.md",
            "..",
            ".git/hooks/post-checkout",
            ".git/config",
            ".GIT/config",
            ".git./config",
            ".git /config",
            "git~1/config",
            "folder/.git/config",
            ".g\u200cit/config",
            ".git",
        ],
    )
    def test_a_path_that_leads_out_or_into_git_writes_nothing(self, a: Machine, remote: Path, path: str) -> None:
        a.put("semantic/mine.md", text_of("mine", "mine").encode())
        a.sync()
        before = surroundings(a)
        git(remote, "update-ref", "refs/heads/main", hostile_commit(remote, path))
        a.put("semantic/later.md", text_of("later", "written later").encode())
        try:
            assert "\n" not in a.sync().detail
        except AnamnesisError as error:
            assert "\n" not in str(error)
        assert surroundings(a) == before
        assert a.bodies() == {"mine", "written later"}
        assert not list(a.store.root.parent.rglob("evil.md"))

    def test_notes_beside_such_a_path_travel_and_it_travels_no_further(
        self, a: Machine, b: Machine, remote: Path
    ) -> None:
        a.put("semantic/one.md", text_of("one", "one").encode())
        settle(a, b)
        git(remote, "update-ref", "refs/heads/main", hostile_commit(remote, ".git/hooks/x"))
        a.note("two")
        settle(a, b)
        a.note("three")
        settle(a, b)
        assert b.bodies() == {"one", "two", "three"}
        assert_same(a, b)
        assert ".git" not in git(remote, "ls-tree", "-r", "--name-only", "main")

    def test_a_link_comes_as_a_text_that_names_its_target(self, a: Machine, remote: Path, tmp_path: Path) -> None:
        secret = tmp_path / "secret"
        secret.write_text("secret", "utf-8")
        commit_tree(remote, [("120000", "semantic/link.md", bytes(secret)), ("120000", "folder", bytes(tmp_path))])
        a.sync()
        for name in ("semantic/link.md", "folder"):
            assert not (a.folder / name).is_symlink()
        assert a.files() == {"semantic/link.md": bytes(secret), "folder": bytes(tmp_path)}
        assert a.is_clean()

    def test_a_link_and_a_file_through_it_write_nothing_outside(self, a: Machine, remote: Path, tmp_path: Path) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        commit_tree(remote, [("120000", "out", bytes(outside))])
        a.sync()
        commit_tree(remote, [("100644", "out/evil.md", b"x")])
        a.sync()
        assert list(outside.iterdir()) == []

    def test_a_file_that_may_be_run_there_may_not_be_run_here(self, a: Machine, remote: Path) -> None:
        commit_tree(remote, [("100755", "semantic/run.md", b"#!/bin/sh\n")])
        a.sync()
        assert not os.access(a.folder / "semantic" / "run.md", os.X_OK)
        assert a.is_clean()

    def test_filters_and_modules_of_the_remote_do_not_run(self, a: Machine, remote: Path, tmp_path: Path) -> None:
        modules = b'[submodule "x"]\n\tpath = x\n\turl = ext::touch ' + bytes(tmp_path / "ran") + b"\n"
        commit_tree(
            remote,
            [
                ("100644", ".gitattributes", b"* filter=lfs diff=lfs merge=lfs\n"),
                ("100644", ".gitmodules", modules),
                ("160000", "x", b"1" * 40),
                ("100644", "semantic/x.md", text_of("x", "text").encode()),
            ],
        )
        a.note("mine")
        assert a.sync().pushed
        assert a.bodies() == {"mine", "text"}
        assert not (tmp_path / "ran").exists()

    def test_notes_that_the_remote_says_to_ignore_keep_what_travels_already(self, a: Machine, b: Machine) -> None:
        first = a.note("travels")
        settle(a, b)
        a.put(".gitignore", "semantic/\n")
        settle(a, b)
        b.store.update(first, body="changed")
        settle(a, b)
        assert a.bodies() == {"changed"}
        assert_same(a, b)


@pytest.mark.parametrize("mode", ["100644", "120000", "160000"], ids=["file", "link", "repository"])
class TestFileInThePlaceOfATypesFolder:
    """A remote that has a file named like a note type's folder stops no note, and the next sync takes it out."""

    @staticmethod
    def entry(mode: str, name: str) -> tuple[str, str, bytes]:
        return mode, name, b"1" * 40 if mode == "160000" else b"/etc"

    @pytest.mark.parametrize("name", ["semantic", "procedural", "Episodic", "semantic.", "ſemantic", "sem\u200dantic"])
    def test_it_is_not_checked_out_and_does_not_stay(self, a: Machine, remote: Path, mode: str, name: str) -> None:
        commit_tree(remote, [self.entry(mode, name), ("100644", "readme.txt", b"x")])
        assert a.sync().reached
        assert a.files() == {"readme.txt": b"x"}
        for kind in ("semantic", "procedural", "episodic"):
            a.note(kind, type=kind)
        assert a.sync().pushed
        assert a.bodies() == {"semantic", "procedural", "episodic"}
        assert a.is_clean()
        names = git(remote, "ls-tree", "-r", "-z", "--name-only", "main").split("\0")
        assert name not in names

    def test_it_replaces_no_folder_of_notes(self, a: Machine, b: Machine, remote: Path, mode: str) -> None:
        a.note("one")
        settle(a, b)
        kept = git(remote, "rev-parse", "main:semantic")
        b.note("two")
        commit_tree(remote, [self.entry(mode, "Semantic"), ("100644", "readme.txt", b"x")])
        a.store.write(type="procedural", title="T", body="three", machine_id="a")
        settle(a, b)
        assert kept
        assert a.files()["readme.txt"] == b"x"
        assert {"two", "three"} <= a.bodies()
        assert_same(a, b)

    def test_one_that_an_earlier_sync_brought_goes_from_the_history_when_it_is_cleared(
        self, a: Machine, remote: Path, mode: str
    ) -> None:
        a.put("readme.txt", "x")
        a.sync()
        commit_tree(remote, [self.entry(mode, "semantic"), ("100644", "readme.txt", b"x")])
        a.git("fetch", "--quiet", "origin")
        a.git("reset", "--quiet", "--hard", "origin/main")
        if mode == "100644":
            with pytest.raises(StoreUnavailable, match=r"doctor --fix"):
                a.note("refused")
        for finding in faults.blocking(a.store.root):
            faults.clear(a.store, finding)
        a.note("one")
        assert a.sync().pushed
        assert a.bodies() == {"one"}
        assert a.is_clean()
        assert git(remote, "cat-file", "-t", "main:semantic") == "tree"


def hostile_commit(remote: Path, path: str) -> str:
    """A commit of what is there and one path more, as no git would make it."""
    folder, _, name = path.rpartition("/") if not path.startswith(("/", "./", "semantic/..")) else ("", "", path)
    entry = entry_of("100644", name, git(remote, "hash-object", "-w", "--stdin", input=b"x"))
    for part in reversed(folder.split("/") if folder else []):
        entry = entry_of("40000", part, tree_of(remote, entry))
    known = git(remote, "rev-parse", "main:semantic")
    return git(
        remote, "commit-tree", tree_of(remote, entry + entry_of("40000", "semantic", known)), "-p", "main", "-m", "x"
    )


def entry_of(mode: str, name: str, object_id: str) -> bytes:
    return f"{mode} {name}".encode() + b"\0" + bytes.fromhex(object_id)


def tree_of(remote: Path, content: bytes) -> str:
    return git(remote, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", input=content)


class TestLinksHere:
    def test_nothing_is_written_through_a_folder_that_is_a_link(self, a: Machine, b: Machine, tmp_path: Path) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        b.folder.joinpath("semantic").symlink_to(outside)
        a.note("one")
        a.put("semantic/deep/er/two.md", text_of("two", "two").encode())
        a.sync()
        b.sync()
        assert list(outside.iterdir()) == []

    def test_a_file_that_is_a_link_is_replaced_and_what_it_led_to_stays(
        self, a: Machine, b: Machine, tmp_path: Path
    ) -> None:
        outside = tmp_path / "outside.md"
        outside.write_bytes(text_of("x", "outside").encode())
        (a.folder / "semantic").mkdir()
        (a.folder / "semantic" / "x.md").symlink_to(outside)
        settle(a, b)
        b.put("semantic/x.md", text_of("x", "of b").encode())
        settle(a, b)
        assert outside.read_bytes() == text_of("x", "outside").encode()
        assert a.files()["semantic/x.md"] == text_of("x", "of b").encode()

    def test_a_folder_of_notes_that_is_a_link_itself_is_the_users_to_place(
        self, make: Make, a: Machine, tmp_path: Path, remote: Path
    ) -> None:
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        root = tmp_path / "c"
        root.mkdir()
        (root / "memory").symlink_to(elsewhere)
        c = make("c", remote)
        deleted = a.note("one")
        settle(a, c)
        c.note("two")
        a.store.delete(deleted)
        settle(a, c)
        assert a.bodies() == c.bodies() == {"two"}
        assert [trashed.id for trashed in c.store.trashed()] == [deleted]
        assert_same(a, c)

    def test_a_folder_of_notes_on_another_disk_still_loses_no_note_that_is_deleted_elsewhere(
        self, make: Make, a: Machine, tmp_path: Path, remote: Path
    ) -> None:
        with tempfile.TemporaryDirectory(dir=another_disk(tmp_path)) as elsewhere:
            (tmp_path / "c").mkdir()
            (tmp_path / "c" / "memory").symlink_to(elsewhere)
            c = make("c", remote)
            deleted = a.note("one")
            settle(a, c)
            a.store.delete(deleted)
            settle(a, c)
            assert c.files() == {}
            assert [trashed.id for trashed in c.store.trashed()] == [deleted]


class TestSecrets:
    @pytest.mark.parametrize(
        ("address", "shown"),
        [
            ("https://me:secret@host.invalid/notes.git", "https://***@host.invalid/notes.git"),
            ("https://secret@host.invalid/notes.git", "https://***@host.invalid/notes.git"),
            ("https://me:sec@ret@host.invalid/notes.git", "https://***@host.invalid/notes.git"),
            ("https://:secret@host.invalid/notes.git", "https://***@host.invalid/notes.git"),
            ("ssh://git@host.invalid/notes.git", "ssh://git@host.invalid/notes.git"),
            ("git@host.invalid:notes.git", "git@host.invalid:notes.git"),
            ("https://host.invalid/notes.git", "https://host.invalid/notes.git"),
        ],
    )
    def test_what_is_shown_of_a_remote_holds_no_password(self, make: Make, address: str, shown: str) -> None:
        assert make("a", address).backend.state().remote == shown

    def test_no_password_is_told_when_the_remote_cannot_be_reached(self, make: Make) -> None:
        result = make("a", "http://me:secret@127.0.0.1:9/notes.git").sync()
        assert not result.reached
        assert "secret" not in result.detail
