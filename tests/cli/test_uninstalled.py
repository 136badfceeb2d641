"""`anamnesis uninstall` creates nothing, says what it leaves, and removes that only after a yes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.cli.command import Command
from tests.cli.test_init import User
from tests.web.daemon import running

REMOTE = "https://kim:secret@host.example/notes.git"


@pytest.fixture
def user(anamnesis: Command) -> User:
    return User(anamnesis)


def test_a_home_that_is_not_there_is_not_created(user: User) -> None:
    user.installs("claude")
    user.command("init", "--all", "--yes")
    shutil.rmtree(user.store)
    (user.home / ".engram").mkdir()
    (user.home / ".engram/engram.db").touch()
    done = user.command("uninstall", "--yes")
    assert (done.code, done.err) == (0, "")
    assert not user.store.exists()
    assert "anamnesis" not in (user.home / ".claude.json").read_text()


PROGRAMS = ("claude", "codex", "opencode", "gemini", "goose", "zed", "cline", "cursor")


@pytest.mark.parametrize("second", ["first", "default"])
def test_entries_of_another_memory_of_the_user_stay_and_are_named(user: User, second: str) -> None:
    """Both ways: of the home that a variable names, and of the default one."""
    user.installs(*PROGRAMS)
    other = {"ANAMNESIS_HOME": str(user.command.folder / "other memory")}
    of_agents, of_second = ({}, other) if second == "first" else (other, {})
    assert user.command("init", "--all", "--yes", "--instructions", **of_agents).code == 0
    before, home = user.files(), other.get("ANAMNESIS_HOME") if of_agents else str(user.store)
    assert len(before) > len(PROGRAMS)
    user.command("write", "Tide", "It turns at six.", **of_second)
    done = user.command("uninstall", "--yes", **of_second)
    assert (done.code, done.out) == (0, "")
    assert user.files() == before, "each agent still starts its memory"
    assert f"Left: {user.home}/.claude.json (it starts the memory in {home})." in done.err
    left = user.command("uninstall", "--print", "--json", **of_second).json["left"]
    assert {"what": f"it starts the memory in {home}", "place": f"{user.home}/.claude.json"} in left
    assert user.command("uninstall", "--yes", **of_agents).code == 0
    assert user.files() == {}


def test_only_the_entries_of_the_own_memory_are_removed_from_a_file(user: User) -> None:
    user.installs("claude")
    other = {"ANAMNESIS_HOME": str(user.command.folder / "other")}
    user.command("init", "--all", "--yes")
    user.command("write", "Tide", "It turns at six.", **other)
    settings = user.home / ".claude/settings.json"
    hooks = json.loads(settings.read_text())
    (stop,) = hooks["hooks"]["SessionEnd"][0]["hooks"]
    stop["command"] += f" --home={other['ANAMNESIS_HOME']}"
    settings.write_text(json.dumps(hooks))
    assert user.command("uninstall", "--yes").code == 0
    assert json.loads(settings.read_text()) == {"hooks": {"SessionEnd": hooks["hooks"]["SessionEnd"]}}


def filled(user: User) -> list[Path]:
    """The folders that a user of a hub, a remote and a restore leaves."""
    user.installs("claude")
    user.command("init", "--all", "--yes")
    user.command("write", "Tide", "It turns at six.")
    user.command("config", "set", "remote", REMOTE)
    account = {"url": "https://hub.example", "token": "t" * 20, "user": "kim", "hub": "h"}
    (user.store / "hub.json").write_text(json.dumps(account))
    aside = user.store.with_name(".anamnesis.before-20260101T000000")
    aside.mkdir()
    return [user.store, aside]


def test_what_is_left_is_named_without_passwords(user: User) -> None:
    home, aside = filled(user)
    done = user.command("uninstall")
    assert done.code == 0
    assert done.err.splitlines() == [
        f"anamnesis: Left: {home} (1 note, the settings and the agents' files before their changes).",
        f"anamnesis: Left: {aside} (a memory that a restore moved aside).",
        "anamnesis: Left: https://***@host.example/notes.git (the git remote).",
        "anamnesis: Left: https://hub.example (the hub, where the login of kim stays valid until it is revoked).",
    ]
    left = user.command("uninstall", "--json").json["left"]
    assert [each["place"] for each in left][:2] == [str(home), str(aside)]


def test_everything_is_removed_only_after_a_yes(user: User) -> None:
    folders = filled(user)
    done = user.command("uninstall", "--everything")
    assert (done.code, done.err) == (
        1,
        "anamnesis: A removal cannot be undone, and nobody can be asked here. Add --yes to remove all.\n",
    )
    planned = user.command("uninstall", "--everything", "--print")
    assert f"Would remove: {user.store}" in planned.err
    shown = user.answers("uninstall", "--everything", typed="y\nn\n")
    assert "This removes from this machine:" in shown
    assert "https://***@host.example/notes.git (the git remote)" in shown
    assert all(folder.exists() for folder in folders)
    assert "mcpServers" in (user.home / ".claude.json").read_text()
    done = user.command("uninstall", "--everything", "--yes")
    assert done.code == 0
    assert f"Removed: {user.store} (1 note" in done.err
    assert not [folder for folder in folders if folder.exists()]
    assert user.files() == {}


def test_a_memory_in_use_or_a_folder_with_more_than_a_memory_is_not_removed(user: User) -> None:
    filled(user)
    done = user.command("uninstall", "--everything", "--yes", ANAMNESIS_HOME=str(user.home))
    assert done.code == 1
    assert "holds your home folder" in done.err
    with running(user.store, HOME=str(user.home)):
        done = user.command("uninstall", "--everything", "--yes")
        assert done.code == 1
        assert "Stop it first: anamnesis daemon stop" in done.err
    assert "mcpServers" in (user.home / ".claude.json").read_text()
    assert user.store.exists()


def test_status_raises_no_alarm_that_doctor_does_not(anamnesis: Command) -> None:
    for number in range(6):
        anamnesis("write", f"Note {number}", f"The text of note {number}.")
    assert anamnesis("doctor").code == 0
    shown = anamnesis.on_terminal("status")
    assert "embedded" not in shown
    assert "reindex" not in shown
