"""Working copies of projects are remembered by hooks and checked before use."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.dream.repositories import PROJECT, Repository

from anamnesis.project import find_project
from anamnesis.working_copies import KnownCopies, known_copies, remember


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def remember_folder(home: Path, folder: Path) -> None:
    remember(home, find_project(folder, home, None), folder)


def known(home: Path) -> KnownCopies:
    return known_copies(home, None, lambda _: True)


def written(home: Path) -> tuple[int, int]:
    status = (home / "working-copies.json").stat()
    return status.st_ino, status.st_mtime_ns


def test_the_root_of_a_working_copy_is_remembered_and_a_known_one_is_not_written_again(
    home: Path, tmp_path: Path
) -> None:
    repository = Repository(tmp_path / "shop")
    (repository.folder / "src").mkdir()
    remember_folder(home, repository.folder / "src")
    assert known(home) == ({PROJECT: repository.folder}, {})
    before = written(home)
    remember_folder(home, repository.folder)
    assert written(home) == before
    assert (home / "working-copies.json").stat().st_mode & 0o777 == 0o600


def test_of_two_working_copies_the_last_one_is_used(home: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        remember_folder(home, Repository(tmp_path / name).folder)
    assert known(home).folders == {PROJECT: tmp_path / "two"}


def test_a_marked_folder_inside_a_repository_is_a_separate_project(home: Path, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "all")
    marker = repository.folder / "packages/shop/.anamnesis/project"
    marker.parent.mkdir(parents=True)
    marker.write_text("shop\n")
    (repository.folder / "packages/shop/src").mkdir()
    remember_folder(home, repository.folder / "packages/shop/src")
    remember_folder(home, repository.folder / "packages")
    assert known(home) == ({"shop": repository.folder / "packages/shop", PROJECT: repository.folder}, {})


def test_a_folder_outside_of_a_repository_is_not_remembered(home: Path, tmp_path: Path) -> None:
    remember_folder(home, tmp_path)
    assert not (home / "working-copies.json").exists()


def test_a_working_copy_that_is_gone_or_has_another_key_is_not_used(home: Path, tmp_path: Path) -> None:
    gone, other = Repository(tmp_path / "gone"), Repository(tmp_path / "other")
    gone.git("remote", "set-url", "origin", "https://github.com/example/gone.git")
    remember_folder(home, gone.folder)
    remember_folder(home, other.folder)
    shutil.rmtree(gone.folder)
    other.git("remote", "set-url", "origin", "https://github.com/example/store.git")
    assert known(home) == ({}, {PROJECT: "github.com/example/store"})
    assert known_copies(home, None, lambda _: False) == ({}, {})


def test_the_file_is_bounded_and_a_damaged_one_counts_as_empty(home: Path, tmp_path: Path) -> None:
    folder = Repository(tmp_path / "shop").folder
    file = home / "working-copies.json"
    many = {f"host/p{number}": "/somewhere" for number in range(500)}
    for content in (json.dumps(many), "[1, 2]", "{", '{"a": 1, "b": "relative"}', "\xff"):
        file.write_text(content, "latin-1")
        remember_folder(home, folder)
        held = json.loads(file.read_bytes())
        assert len(held) <= 100
        assert [*held.items()][-1] == (PROJECT, str(folder))


def test_a_home_that_cannot_be_written_is_not_an_error(home: Path, tmp_path: Path) -> None:
    remember_folder(home / "missing", Repository(tmp_path / "shop").folder)


@pytest.mark.parametrize("hook", ["inject", "capture"])
def test_a_hook_remembers_the_folder_of_its_session(home: Path, tmp_path: Path, hook: str) -> None:
    repository = Repository(tmp_path / "shop")
    transcript = tmp_path / "session.jsonl"
    asked = {"type": "user", "cwd": str(repository.folder), "sessionId": "s", "message": {"content": "Fix the cart"}}
    transcript.write_text(json.dumps(asked) + "\n")
    event = {
        "session_id": "s",
        "cwd": str(repository.folder),
        "hook_event_name": "x",
        "transcript_path": str(transcript),
    }
    subprocess.run(
        [sys.executable, "-m", "anamnesis", hook, *(["--no-sync"] if hook == "capture" else [])],
        input=json.dumps(event).encode(),
        env={"ANAMNESIS_HOME": str(home), "HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    assert json.loads((home / "working-copies.json").read_bytes()) == {PROJECT: str(repository.folder)}
