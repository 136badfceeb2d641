"""Where this machine's settings come from."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from anamnesis.config import change_config, resolve_engram_strict, resolve_home, resolve_machine_id, resolve_remote


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ANAMNESIS_HOME", str(tmp_path / "store"))
    for name in ("ANAMNESIS_MACHINE_ID", "ANAMNESIS_GIT_REMOTE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "store"


def test_home_is_the_variable_else_a_folder_of_the_user(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve_home() == home
    monkeypatch.setenv("ANAMNESIS_HOME", "~/elsewhere")
    assert resolve_home() == home.parent / "elsewhere"
    monkeypatch.setenv("ANAMNESIS_HOME", "")
    assert resolve_home() == home.parent / ".anamnesis"


def test_machine_id_is_variable_then_file_then_host_name(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve_machine_id() == socket.gethostname()
    change_config(home, "machine_id", "desk")
    assert resolve_machine_id() == "desk"
    monkeypatch.setenv("ANAMNESIS_MACHINE_ID", "lap")
    assert resolve_machine_id() == "lap"


def test_remote_is_variable_then_file_then_none(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve_remote() is None
    change_config(home, "remote", "git@host:notes.git")
    assert resolve_remote() == "git@host:notes.git"
    monkeypatch.setenv("ANAMNESIS_GIT_REMOTE", "/srv/notes.git")
    assert resolve_remote() == "/srv/notes.git"


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"machine_id": 5}', '{"machine_id": ""}', "\xff"])
def test_a_config_that_makes_no_sense_counts_as_empty(home: Path, content: str) -> None:
    home.mkdir()
    (home / "config.json").write_bytes(content.encode("latin-1"))
    assert resolve_machine_id() == socket.gethostname()
    assert resolve_remote() is None


@pytest.mark.parametrize(
    ("value", "is_strict"),
    [("1", True), ("true", True), ("on", True), ("", False), ("0", False), ("off", False), ("yes?", False)],
)
def test_engram_is_followed_to_the_letter_only_where_the_variable_says_so(
    home: Path, monkeypatch: pytest.MonkeyPatch, value: str, is_strict: bool
) -> None:
    monkeypatch.delenv("ANAMNESIS_ENGRAM_STRICT", raising=False)
    assert not resolve_engram_strict()
    monkeypatch.setenv("ANAMNESIS_ENGRAM_STRICT", value)
    assert resolve_engram_strict() is is_strict
