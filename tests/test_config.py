"""The sources of this machine's settings."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from anamnesis.config import (
    change_config,
    read_settings,
    resolve_home,
    resolve_machine_id,
    resolve_remote,
    resolve_settings,
)
from anamnesis.errors import InvalidArgument


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ANAMNESIS_HOME", str(tmp_path / "store"))
    for name in ("ANAMNESIS_MACHINE_ID", "ANAMNESIS_GIT_REMOTE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "store"


def test_home_is_the_variable_else_the_default_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"machine_id": [5]}', '{"machine_id": ""}', "\xff"])
def test_an_invalid_config_counts_as_empty(home: Path, content: str) -> None:
    home.mkdir()
    (home / "config.json").write_bytes(content.encode("latin-1"))
    assert resolve_machine_id() == socket.gethostname()
    assert resolve_remote() is None


@pytest.mark.parametrize(
    ("value", "is_strict"),
    [("1", True), ("true", True), ("on", True), ("", False), ("0", False), ("off", False), ("yes?", False)],
)
def test_strict_engram_behaviour_needs_the_variable(tmp_path: Path, value: str, is_strict: bool) -> None:
    assert not read_settings({}, tmp_path).engram_strict
    assert read_settings({"ANAMNESIS_ENGRAM_STRICT": value}, tmp_path).engram_strict is is_strict


def test_settings_come_from_the_given_environment_not_from_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANAMNESIS_HOME", "/elsewhere")
    monkeypatch.setenv("ANAMNESIS_MACHINE_ID", "other")
    monkeypatch.setenv("HOME", "/nowhere")
    variables = {"ANAMNESIS_HOME": "~/store", "ANAMNESIS_GIT_REMOTE": "/srv/notes.git"}
    change_config(tmp_path / "store", "machine_id", "desk")
    settings = read_settings(variables, tmp_path)
    assert (settings.home, settings.claude_home) == (tmp_path / "store", tmp_path / ".claude")
    assert (settings.machine_id, settings.remote) == ("desk", "/srv/notes.git")


def test_settings_do_not_change_after_they_were_read(home: Path) -> None:
    settings = resolve_settings()
    change_config(home, "remote", "/srv/notes.git")
    assert (settings.remote, resolve_settings().remote) == (None, "/srv/notes.git")
    with pytest.raises(AttributeError):
        settings.remote = "/srv/other.git"  # type: ignore[misc]


def test_an_invalid_value_counts_as_the_default_but_is_shown_as_given(tmp_path: Path) -> None:
    wrong = {"BRIDGE": "perhaps", "SYNC_TIMEOUT": "-1", "INJECT_BUDGET": "many", "REFLECTION_PROVIDER": "oracle"}
    given = read_settings({f"ANAMNESIS_{name}": value for name, value in wrong.items()}, tmp_path)
    assert given._replace(found=()) == read_settings({}, tmp_path)._replace(found=())
    assert [given.resolved(name.lower()).value for name in wrong] == list(wrong.values())


def test_the_repr_of_settings_contains_no_secret(tmp_path: Path) -> None:
    secrets = {"ANAMNESIS_TOKEN": "t" * 16, "ANAMNESIS_REFLECTION_API_KEY": "k" * 16}
    shown = repr(read_settings(secrets, tmp_path))
    assert not any(secret in shown for secret in secrets.values())


class TestEngramsDatabase:
    def test_the_variable_comes_first_then_engrams_folder_then_our_own(self, tmp_path: Path) -> None:
        variables = {"ANAMNESIS_HOME": str(tmp_path / "ours")}
        given = read_settings({**variables, "ENGRAM_DATA_DIR": "/data"}, tmp_path)
        settings = read_settings({**variables, "ENGRAM_DATA_DIR": ""}, tmp_path)
        assert given.engram_db() == Path("/data/engram.db")
        assert settings.engram_db() == tmp_path / "ours/engram.db"
        (tmp_path / ".engram").mkdir()
        assert settings.engram_db() == tmp_path / ".engram/engram.db"

    def test_a_relative_folder_is_refused_when_the_database_is_used(self, tmp_path: Path) -> None:
        settings = read_settings({"ENGRAM_DATA_DIR": "data"}, tmp_path)
        with pytest.raises(InvalidArgument, match="absolute"):
            settings.engram_db()
