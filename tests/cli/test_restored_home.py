"""A memory that was restored or copied elsewhere is another machine's: it never reaches into the home it came from."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.cli.command import Command
from tests.cli.test_init import User


@pytest.fixture
def user(anamnesis: Command) -> User:
    set_up = User(anamnesis)
    set_up.installs("claude", "goose")
    set_up.command("init", "--all", "--yes")
    set_up.command("write", "Tide", "It turns at six.")
    return set_up


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_restored_home_has_the_notes_but_neither_the_ledger_nor_the_name_of_the_machine(user: User) -> None:
    file, new = user.command.folder / "memory.zip", user.command.folder / "new"
    (user.store / "service.json").write_text('{"words": ["anamnesis"], "variables": {}, "port": 7437}')
    user.command("backup", str(file))
    before = everything(user.home)
    done = user.command("backup", "restore", str(file), HOME=str(new))
    assert done.code == 0
    assert "Next: `anamnesis init` sets up the agents of this machine" in done.out
    restored = everything(new / ".anamnesis")
    assert not [name for name in restored if name.startswith(("backups/", "bin/", "service.json"))]
    assert json.loads(restored["config.json"]) == {}
    assert "Tide" in user.command("list", HOME=str(new)).out
    gone = user.command("uninstall", HOME=str(new))
    assert (gone.code, gone.out) == (0, "")
    assert everything(user.home) == before


def test_a_copied_home_does_not_change_files_outside_the_home_of_its_user(user: User) -> None:
    new = user.command.folder / "new"
    shutil.copytree(user.store, new / ".anamnesis")
    before = everything(user.home)
    gone = user.command("uninstall", HOME=str(new))
    assert gone.code == 1
    assert f"Left alone: {user.home / '.claude.json'}: It is outside {new}" in gone.err
    assert everything(user.home) == before


def test_a_replaced_home_keeps_the_ledger_and_the_name_of_its_machine(user: User) -> None:
    user.command("config", "set", "machine_id", "desk")
    file = user.command.folder / "memory.zip"
    user.command("backup", str(file))
    user.command("config", "set", "machine_id", "desk-2")
    assert user.command("backup", "restore", str(file), "--replace").code == 0
    assert user.command("config", "get", "machine_id", ANAMNESIS_MACHINE_ID="").out == "desk-2\n"
    assert user.command("doctor").code == 0
    assert user.command("uninstall").code == 0
    assert [name for name in user.files() if not name.startswith(".anamnesis.before-")] == []
