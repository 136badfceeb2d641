"""A clone may be hostile: its files about the project neither leak notes, hang, nor open another project."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import Command

pytestmark = pytest.mark.usefixtures("bounded")
PRIVATE = "github.com/acme/private"


def ignored(anamnesis: Command) -> list[dict[str, Any]]:
    path = anamnesis.home / "anamnesis.log"
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [line for line in lines if line["event"] == "ignored"]


def link_to_environment(folder: Path) -> None:
    (folder / ".anamnesis").mkdir()
    (folder / ".anamnesis/project").symlink_to("/proc/self/environ")


def link_without_end(folder: Path) -> None:
    (folder / ".anamnesis").mkdir()
    (folder / ".anamnesis/project").symlink_to("/dev/zero")


def pipe(folder: Path) -> None:
    (folder / ".anamnesis").mkdir()
    os.mkfifo(folder / ".anamnesis/project")


def linked_folder(folder: Path) -> None:
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere/project").write_text("elsewhere")
    (folder / ".anamnesis").symlink_to("elsewhere")


def long_file(folder: Path) -> None:
    (folder / ".anamnesis").mkdir()
    (folder / ".anamnesis/project").write_text("key\n" + "x" * 1024)


def long_key(folder: Path) -> None:
    (folder / ".anamnesis").mkdir()
    (folder / ".anamnesis/project").write_text("k" * 201)


def no_key(folder: Path) -> None:
    (folder / ".anamnesis").mkdir()
    (folder / ".anamnesis/project").write_text("NAME=value\0OTHER=value")


@pytest.mark.parametrize(
    "make", [link_to_environment, link_without_end, pipe, linked_folder, long_file, long_key, no_key]
)
def test_an_invalid_marker_is_ignored_and_logged_once(anamnesis: Command, make: Callable[[Path], None]) -> None:
    make(anamnesis.folder)
    first = anamnesis("write", "Title", "body", "-p", ".", "--json", PASSING="from-the-environment")
    assert (first.code, first.err) == (0, "")
    assert first.json["project"] == anamnesis.folder.name.lower()
    assert anamnesis("inject").code == 0
    (line,) = ignored(anamnesis)
    assert line["path"] == str(anamnesis.folder / ".anamnesis/project")
    assert not any(b"from-the-environment" in path.read_bytes() for path in anamnesis.home.rglob("*") if path.is_file())


def test_a_secret_in_a_marker_is_redacted_as_in_any_text(anamnesis: Command) -> None:
    secret = "ghp_" + "".join(chr(ord("a") + number * 7 % 26) + str(number % 10) for number in range(18))
    (anamnesis.folder / ".anamnesis").mkdir()
    (anamnesis.folder / ".anamnesis/project").write_text(f"host/{secret}")
    shown = anamnesis("write", "Title", "body", "-p", ".", "--json").out
    assert "REDACTED" in shown
    assert secret not in shown


def test_an_invalid_key_is_refused_in_one_sentence_and_old_ones_are_still_found(anamnesis: Command) -> None:
    done = anamnesis("write", "Title", "body", "-p", "a;b=$c")
    assert done.code == 1
    assert done.err.startswith("anamnesis: 'a;b=$c' cannot be the key of a project.")
    assert done.err.count("\n") == 1
    with anamnesis.store() as store:
        store.write(type="semantic", title="Old", body="zebra", project="a;b=$c")
    assert "Old" in anamnesis("search", "zebra", "-p", "a;b=$c").out


class Clone:
    """A repository with an origin, in which `anamnesis` runs."""

    def __init__(self, anamnesis: Command, origin: str) -> None:
        self.anamnesis = anamnesis
        self.folder = anamnesis.folder = anamnesis.folder / "clone"
        self.folder.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")
        if origin:
            self.git("remote", "add", "origin", origin)

    def git(self, *arguments: str) -> None:
        identity = ("-c", "user.name=n", "-c", "user.email=e")
        subprocess.run(["git", *identity, *arguments], cwd=self.folder, check=True, capture_output=True)

    def mark(self, key: str, *, tracked: bool = True, file: str = ".anamnesis/project") -> None:
        (self.folder / file).parent.mkdir(exist_ok=True)
        (self.folder / file).write_text(key)
        if tracked:
            self.git("add", "--force", file)
            self.git("commit", "--quiet", "-m", "mark")

    def key(self) -> str:
        return str(self.anamnesis("project", "show", "--json").json["key"])


@pytest.fixture
def clone(anamnesis: Command) -> Clone:
    made = Clone(anamnesis, "https://evil.example/clone.git")
    anamnesis("write", "Plan", "acquire the zebra", "-p", PRIVATE)
    return made


class TestMarkerOfAnotherProject:
    def test_a_clone_cannot_name_the_project_whose_notes_it_wants(self, anamnesis: Command, clone: Clone) -> None:
        clone.mark(PRIVATE)
        shown = anamnesis("inject").out
        assert "zebra" not in shown
        assert shown.count("\n") == 1
        assert "`anamnesis project trust`" in shown
        assert anamnesis("recall", stdin=json.dumps({"prompt": "acquire the zebra"})).out == ""
        assert anamnesis("write", "T", "b", "-p", ".", "--json").json["project"] == "evil.example/clone"
        assert clone.key() == "evil.example/clone"

    def test_notes_of_the_remotes_own_project_are_still_injected(self, anamnesis: Command, clone: Clone) -> None:
        clone.mark(PRIVATE)
        anamnesis("write", "Own", "giraffe", "-p", "evil.example/clone")
        shown = anamnesis("inject").out
        assert "giraffe" in shown
        assert "zebra" not in shown
        assert shown.startswith("Anamnesis injected no notes of the project")

    def test_trust_is_given_once_for_a_name_and_taken_back(self, anamnesis: Command, clone: Clone) -> None:
        clone.mark(PRIVATE)
        assert PRIVATE in anamnesis("project", "trust").out
        assert "zebra" in anamnesis("inject").out
        assert clone.key() == PRIVATE
        clone.mark("github.com/acme/other")
        assert clone.key() == "evil.example/clone"
        clone.mark(PRIVATE)
        assert clone.key() == PRIVATE
        anamnesis("project", "untrust")
        assert clone.key() == "evil.example/clone"
        assert not [path for path in (anamnesis.home / "memory").rglob("*") if b"evil" in path.name.encode()]

    @pytest.mark.parametrize("name", ["clone", "private", "global", "Evil.example/other"])
    def test_a_short_name_opens_nothing_either(self, anamnesis: Command, clone: Clone, name: str) -> None:
        clone.mark(name)
        assert clone.key() == "evil.example/clone"
        assert "zebra" not in anamnesis("inject").out

    def test_a_marker_in_a_submodule_is_tracked_too(self, tmp_path: Path, clone: Clone) -> None:
        module = tmp_path / "module"
        module.mkdir()
        (module / "project").write_text(PRIVATE)
        for arguments in (("init", "--quiet"), ("add", "project"), ("commit", "--quiet", "-m", "x")):
            identity = ("-c", "user.name=n", "-c", "user.email=e")
            subprocess.run(["git", *identity, *arguments], cwd=module, check=True, capture_output=True)
        clone.git("-c", "protocol.file.allow=always", "submodule", "add", str(module), ".anamnesis")
        assert (clone.folder / ".anamnesis/project").read_text() == PRIVATE
        assert clone.key() == "evil.example/clone"

    def test_a_marker_that_the_user_wrote_counts(self, clone: Clone) -> None:
        clone.mark(PRIVATE, tracked=False)
        assert clone.key() == PRIVATE

    def test_a_marker_that_says_what_a_remote_says_counts(self, anamnesis: Command, clone: Clone) -> None:
        clone.mark("Evil.example/clone")
        assert clone.key() == "Evil.example/clone"
        clone.mark(PRIVATE)
        clone.git("remote", "add", "upstream", "git@github.com:acme/private.git")
        assert clone.key() == PRIVATE

    def test_a_marker_counts_where_there_is_no_remote(self, anamnesis: Command) -> None:
        clone = Clone(anamnesis, "")
        clone.mark(PRIVATE)
        assert clone.key() == PRIVATE

    def test_another_name_for_the_origin_protects_nobody_less(self, clone: Clone) -> None:
        clone.git("remote", "rename", "origin", "upstream")
        clone.mark(PRIVATE)
        assert clone.key() == "clone"

    def test_a_repository_that_git_cannot_read_is_not_believed(self, clone: Clone) -> None:
        clone.mark(PRIVATE)
        (clone.folder / ".git/index").write_bytes(b"broken")
        assert clone.key() == "evil.example/clone"


class TestNameInEngramsConfiguration:
    def test_a_clone_cannot_name_the_project_whose_context_it_wants(self, anamnesis: Command, clone: Clone) -> None:
        clone.mark('{"project_name": "private"}', file=".engram/config.json")
        shown = anamnesis("project", "show", "--json").json
        assert shown["ignored"] == [{"path": str(clone.folder / ".engram/config.json"), "name": "private"}]
        assert 'project "clone"' in anamnesis("engram", "sync").out
        anamnesis("project", "trust")
        assert 'project "private"' in anamnesis("engram", "sync").out

    def test_what_engram_wrote_for_the_user_counts(self, anamnesis: Command, clone: Clone) -> None:
        clone.mark('{"project_name": "chosen"}', file=".engram/config.json", tracked=False)
        assert 'project "chosen"' in anamnesis("engram", "sync").out
