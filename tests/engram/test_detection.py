"""The project of a folder, in real repositories."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from anamnesis.engram.detection import detect

# Nothing is trusted there.
HOME = Path("/nonexistent")


def repository(folder: Path, origin: str = "") -> Path:
    folder.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    if origin:
        subprocess.run(["git", "-C", str(folder), "remote", "add", "origin", origin], check=True)
    return folder


@pytest.mark.parametrize(
    ("origin", "project"),
    [
        ("git@github.com:Gentleman/Engram.git", "engram"),
        ("https://github.com/someone/My-Repo.git", "my-repo"),
        ("https://github.com/someone/my_repo", "my_repo"),
        ("ssh://git@host:2222/team/thing.git", "thing"),
        ("/srv/git/Plain", "plain"),
    ],
)
def test_the_origin_names_the_project(tmp_path: Path, origin: str, project: str) -> None:
    folder = repository(tmp_path / "checkout", origin)
    (folder / "deep" / "down").mkdir(parents=True)
    assert detect(folder, HOME) == detect(folder / "deep" / "down", HOME) == project


def test_a_repository_without_an_origin_is_named_after_its_root(tmp_path: Path) -> None:
    folder = repository(tmp_path / "My Root")
    (folder / "inner").mkdir()
    assert detect(folder / "inner", HOME) == "my root"


def test_a_plain_folder_is_named_after_itself(tmp_path: Path) -> None:
    folder = tmp_path / "Notes"
    folder.mkdir()
    assert detect(folder, HOME) == "notes"
    assert detect(Path("/"), HOME) == "unknown"


def test_the_environment_of_another_repository_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = repository(tmp_path / "other", "https://host/other.git")
    folder = repository(tmp_path / "mine", "https://host/mine.git")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert detect(folder, HOME) == "mine"


def test_a_name_that_a_later_engram_has_set_comes_first(tmp_path: Path) -> None:
    folder = repository(tmp_path / "checkout", "https://host/repo.git")
    (folder / ".engram").mkdir()
    (folder / "inner").mkdir()
    settings = folder / ".engram" / "config.json"
    settings.write_text(json.dumps({"project_name": " Chosen "}))
    assert detect(folder / "inner", HOME) == "chosen"
    for unusable in ('{"project_name": "../up"}', '{"project_name": 5}', "[]", "{broken", '{"project_name": "a\\nb"}'):
        settings.write_text(unusable)
        assert detect(folder, HOME) == "repo"
