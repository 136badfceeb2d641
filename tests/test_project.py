"""A project has the same key on every machine, however it was cloned."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from anamnesis.engram.detection import detect
from anamnesis.inject import resolve_project_key
from anamnesis.project import normalize_remote

SAME = "github.com/oscardvs/anamnesis"


def git(folder: Path, *arguments: str) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=e", "-c", "protocol.file.allow=always", *arguments],
        cwd=folder,
        env=environment,
        check=True,
        capture_output=True,
    )


def repository(folder: Path, origin: str = "") -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "--initial-branch=main")
    git(folder, "commit", "--allow-empty", "-m", "first")
    if origin:
        git(folder, "remote", "add", "origin", origin)
    return folder


@pytest.mark.parametrize(
    "url",
    [
        "git@github.com:oscardvs/anamnesis.git",
        "git@github.com:oscardvs/anamnesis",
        "git@github.com:/oscardvs/anamnesis.git",
        "github.com:oscardvs/anamnesis.git/",
        "https://github.com/oscardvs/anamnesis",
        "https://github.com/oscardvs/anamnesis/",
        "https://github.com/oscardvs/anamnesis.git",
        "https://github.com/oscardvs/anamnesis.git/",
        "https://github.com//oscardvs/anamnesis.git",
        "https://user@github.com/oscardvs/anamnesis.git",
        "https://user:p%40ss@github.com/oscardvs/anamnesis.git",
        "https://github.com:443/oscardvs/anamnesis.git",
        "http://GitHub.com/Oscardvs/Anamnesis",
        "ssh://git@github.com/oscardvs/anamnesis.git",
        "ssh://git@github.com:22/oscardvs/anamnesis.git",
        "ssh://git@ssh.github.com:443/oscardvs/anamnesis.git",
        "git+ssh://git@github.com/oscardvs/anamnesis.git",
        "git://github.com/oscardvs/anamnesis.git",
    ],
)
def test_every_form_of_a_remote_gives_the_same_key(url: str) -> None:
    assert normalize_remote(url) == SAME


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("ssh://git@host.tailnet.ts.net:2222/~/notes.git", "host.tailnet.ts.net/~/notes"),
        ("you@host:notes.git", "host/notes"),
        ("ssh://[fe80::1]:22/x/y.git", "fe80::1/x/y"),
        ("git@[fe80::1]:x/y.git", "fe80::1/x/y"),
        ("https://gitlab.com/group/sub/sub/project.git", "gitlab.com/group/sub/sub/project"),
        ("/srv/git/Notes.git", "/srv/git/notes"),
        ("file:///srv/git/notes.git/", "/srv/git/notes"),
        ("C:\\repos\\Notes.git", "c:/repos/notes"),
        ("git@github.com:user/dot.git.name.git", "github.com/user/dot.git.name"),
    ],
)
def test_other_remotes_keep_what_distinguishes_them(url: str, key: str) -> None:
    assert normalize_remote(url) == key


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://me:secret@host/x.git", "host/x"),
        ("https://secret@host/x.git", "host/x"),
        ("https://me:secret@@host/x.git", "host/x"),
        ("https://me:sec@secret@host:8443/x.git", "host/x"),
        ("https://me:secret/secret@host/x.git", "host/x"),
        ("https://me:secret\\secret@host/x.git", "host/x"),
        ("https://me:secret@[fe80::1]:8443/x.git", "fe80::1/x"),
        ("https://host/x.git?private_token=secret", "host/x"),
        ("https://host/x.git#secret", "host/x"),
        ("https://me:secret?secret@host/x.git", "host/x"),
        ("https://me:secret/secret#secret@host/x.git", "host/x"),
        ("me:secret@host:x.git", "host/x"),
        ("me:sec@secret@host:x.git", "host/x"),
        ("helper::https://me:secret@host/x.git", "host/x"),
    ],
)
def test_a_password_never_reaches_a_key(tmp_path: Path, url: str, key: str) -> None:
    assert normalize_remote(url) == key
    folder = repository(tmp_path / "clone", url)
    assert resolve_project_key(folder) == key
    assert detect(folder, tmp_path / "home") == "x"


def test_invalid_characters_of_a_remote_or_folder_are_replaced(tmp_path: Path) -> None:
    assert resolve_project_key(repository(tmp_path / "a", "https://host/a\tb<c>.git")) == "host/a-b-c-"
    long = [resolve_project_key(repository(tmp_path / name, f"/{'x' * 300}/{name}.git")) for name in ("one", "two")]
    assert [len(key) for key in long] == [200, 200]
    assert long[0] != long[1]
    (tmp_path / "Proyecto ñ [old] 🚀").mkdir()
    assert resolve_project_key(tmp_path / "Proyecto ñ [old] 🚀") == "proyecto ñ [old] 🚀"


def test_the_origin_of_a_repository_is_the_key_also_in_a_subfolder(tmp_path: Path) -> None:
    folder = repository(tmp_path / "clone", "git@github.com:oscardvs/anamnesis.git")
    (folder / "src").mkdir()
    assert resolve_project_key(folder / "src") == SAME


def test_a_repository_is_found_through_a_link_and_if_it_is_bare(tmp_path: Path) -> None:
    """git is started only if a repository is likely; these two have no `.git` on the given path."""
    inside = repository(tmp_path / "clone", "https://github.com/oscardvs/anamnesis") / "src"
    inside.mkdir()
    (tmp_path / "link").symlink_to(inside)
    assert resolve_project_key(tmp_path / "link") == SAME
    git(tmp_path, "clone", "--bare", str(tmp_path / "clone"), str(tmp_path / "bare.git"))
    git(tmp_path / "bare.git", "remote", "set-url", "origin", "git@github.com:oscardvs/anamnesis.git")
    assert resolve_project_key(tmp_path / "bare.git") == SAME


def test_without_an_origin_the_key_is_the_name_of_the_root(tmp_path: Path) -> None:
    folder = repository(tmp_path / "MyRepo")
    (folder / "src").mkdir()
    assert resolve_project_key(folder / "src") == "myrepo"


def test_outside_of_git_the_key_is_the_name_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "Plain").mkdir()
    assert resolve_project_key(tmp_path / "Plain") == "plain"
    assert resolve_project_key("/") == "global"
    assert resolve_project_key(tmp_path / "Gone") == "gone"


def test_a_worktree_has_the_key_of_its_repository(tmp_path: Path) -> None:
    folder = repository(tmp_path / "Main")
    git(folder, "worktree", "add", str(tmp_path / "feature-x"))
    assert resolve_project_key(tmp_path / "feature-x") == "main"
    git(folder, "remote", "add", "origin", "https://github.com/oscardvs/anamnesis")
    assert resolve_project_key(tmp_path / "feature-x") == SAME


def test_a_submodule_is_a_separate_project(tmp_path: Path) -> None:
    library = repository(tmp_path / "library")
    folder = repository(tmp_path / "app", "git@host:app.git")
    git(folder, "submodule", "add", str(library), "vendor/lib")
    assert resolve_project_key(folder / "vendor/lib") == str(library).lower()
    git(folder / "vendor/lib", "remote", "remove", "origin")
    assert resolve_project_key(folder / "vendor/lib") == "lib"


def test_a_relative_remote_is_resolved(tmp_path: Path) -> None:
    folder = repository(tmp_path / "clone", "../bare.git")
    assert resolve_project_key(folder) == str(tmp_path / "bare").lower()


def test_a_marker_wins_and_is_found_in_parent_folders(tmp_path: Path) -> None:
    folder = repository(tmp_path / "clone", "git@host:x.git")
    (folder / "a/b").mkdir(parents=True)
    (folder / ".anamnesis").mkdir()
    (folder / ".anamnesis/project").write_text("\n\n  acme/site  \nignored\n")
    assert resolve_project_key(folder / "a/b") == "acme/site"
    (folder / "a/.anamnesis").mkdir()
    (folder / "a/.anamnesis/project").write_text("\n")
    assert resolve_project_key(folder / "a/b") == "acme/site"


def test_a_marker_in_the_home_folder_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".anamnesis").mkdir()
    (tmp_path / ".anamnesis/project").write_text("everything")
    (tmp_path / "work").mkdir()
    assert resolve_project_key(tmp_path / "work") == "work"
    assert resolve_project_key(tmp_path) == tmp_path.name.lower()


def test_an_inherited_git_dir_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = repository(tmp_path / "other", "git@host:other.git")
    mine = repository(tmp_path / "mine", "git@host:mine.git")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    assert resolve_project_key(mine) == "host/mine"
