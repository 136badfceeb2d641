"""`anamnesis doctor` on the files of agents, and the launcher through which agents start us."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import Command
from tests.cli.test_init import User

from anamnesis.onboard.agents import AGENTS

OWN = Path(sys.executable).with_name("anamnesis")


@pytest.fixture
def user(anamnesis: Command) -> User:
    return User(anamnesis)


def faults(user: User, *options: str) -> dict[str, dict[str, Any]]:
    """The faults of files outside of the store, by path from the home folder."""
    found = user.command("doctor", "--json", *options).json["faults"]
    return {each["subject"].removeprefix(f"{user.home}/"): each for each in found}


def server(user: User) -> dict[str, Any]:
    entry: dict[str, Any] = json.loads((user.home / ".claude.json").read_text())["mcpServers"]["anamnesis"]
    return entry


def test_a_fresh_setup_has_no_fault_for_any_agent(user: User) -> None:
    chosen = [word for name in AGENTS for word in ("--agent", name)]
    assert user.command("init", *chosen, "--instructions").code == 0
    assert faults(user) == {}


def test_a_program_that_is_gone_is_a_fault_and_is_renewed(user: User) -> None:
    user.installs("claude", "opencode", "codex")
    user.command("init", "--all")
    before = user.files()
    for path, content in before.items():
        moved = content.replace(str(user.store / "bin/anamnesis").encode(), b"/gone/bin/anamnesis")
        (user.home / path).write_bytes(moved)
    found = faults(user)
    assert found.keys() == before.keys()
    assert all(each["fixable"] for each in found.values())
    assert found[".claude.json"]["fault"] == "It makes Claude Code start /gone/bin/anamnesis, which does not run."
    assert "trust" in found[".codex/hooks.json"]["fix"]
    done = user.command("doctor", "--fix", "--json")
    assert (done.code, done.json["faults"]) == (0, [])
    assert user.files() == before
    assert user.command("uninstall").code == 0
    assert user.files() == {}


def test_a_program_that_cannot_be_started_counts_as_gone(user: User) -> None:
    """An update of Python leaves scripts whose interpreter is no longer there."""
    stale = user.programs / "anamnesis"
    stale.write_text("#!/gone/python\n")
    stale.chmod(0o755)
    user.command("init", "--agent", "claude")
    state = user.home / ".claude.json"
    state.write_text(state.read_text().replace(str(user.store / "bin/anamnesis"), str(stale)))
    assert f"start {stale}, which does not run" in faults(user)[".claude.json"]["fault"]


def test_another_working_program_of_ours_is_not_a_fault(user: User) -> None:
    user.command("init", "--agent", "claude", "--agent", "opencode")
    for path, content in user.files().items():
        (user.home / path).write_bytes(content.replace(str(user.store / "bin/anamnesis").encode(), bytes(OWN)))
    assert faults(user) == {}


def test_a_removed_entry_is_named_and_rewritten(user: User) -> None:
    user.command("init", "--agent", "claude", "--agent", "zed", "--instructions")
    before = user.files()
    settings = user.home / ".claude/settings.json"
    document = json.loads(settings.read_text())
    del document["hooks"]["UserPromptSubmit"], document["hooks"]["SessionEnd"], document["hooks"]["PreCompact"]
    settings.write_text(json.dumps(document))
    (user.home / ".claude.json").write_text('{"mine": 1}')
    (user.home / ".config/zed/AGENTS.md").unlink()
    found = {path: each["fault"] for path, each in faults(user).items()}
    assert found == {
        ".claude.json": "It lacks the MCP server of Claude Code.",
        ".claude/settings.json": "It lacks the hooks capture and recall of Claude Code.",
        ".config/zed/AGENTS.md": "It is missing. Zed needs it for its memory.",
    }
    assert user.command("doctor", "--fix").code == 0
    assert json.loads((user.home / ".claude.json").read_text())["mine"] == 1
    assert user.files().keys() == before.keys()


def test_a_file_that_others_broke_is_named_and_left_alone(user: User) -> None:
    user.command("init", "--agent", "claude", "--agent", "codex")
    (user.home / ".claude.json").write_text("{")
    (user.home / ".codex/config.toml").write_text("[mcp_servers\n")
    for option in ("", "--fix"):
        found = faults(user, *filter(None, [option]))
        assert found.keys() == {".claude.json", ".codex/config.toml"}
        assert not any(each["fixable"] for each in found.values())
    assert (user.home / ".claude.json").read_text() == "{"


def test_agents_that_were_never_set_up_or_are_gone_are_not_checked(user: User) -> None:
    user.installs("claude", "codex")
    user.command("init", "--agent", "claude", "--agent", "cursor")
    shutil.rmtree(user.home / ".cursor")
    assert faults(user) == {}
    user.command("uninstall")
    assert faults(user) == {}


def test_an_option_that_the_user_added_to_our_entries_is_not_a_fault(user: User) -> None:
    user.command("init", "--agent", "claude")
    settings = user.home / ".claude/settings.json"
    settings.write_text(settings.read_text().replace(" inject", " inject --budget=2000"))
    assert faults(user) == {}


def test_engrams_entries_that_point_back_to_it_are_a_fault(user: User) -> None:
    user.installs("claude", "engram")
    own = {"command": str(user.programs / "engram"), "args": ["mcp"]}
    (user.home / ".claude.json").write_text(json.dumps({"mcpServers": {"engram": own}}))
    user.command("init", "--all")
    assert faults(user) == {}
    document = json.loads((user.home / ".claude.json").read_text())
    document["mcpServers"]["engram"] = own
    (user.home / ".claude.json").write_text(json.dumps(document))
    assert faults(user).keys() == {".claude.json"}
    assert user.command("doctor", "--fix").code == 0
    assert server(user)["command"] == str(user.store / "bin/anamnesis")


def test_an_unreadable_ledger_is_reported(user: User) -> None:
    user.command("init", "--agent", "claude")
    (user.store / "backups/ledger.json").write_text("{")
    (fault,) = faults(user).values()
    assert fault["fix"] == "Run `anamnesis init` again."


def test_agents_start_a_launcher_that_stays_where_the_virtual_environment_moves(user: User) -> None:
    user.installs("claude", "zed")
    done = user.command("init", "--all", "--json").json
    launcher = user.store / "bin/anamnesis"
    assert server(user)["command"] == done["program"] == str(launcher)
    assert done["runs"] == str(OWN)
    assert os.access(launcher, os.X_OK)
    assert b"anamnesis, version" in subprocess.run([launcher, "--version"], check=True, capture_output=True).stdout
    before = user.files()
    # The environment has moved: the launcher is the only file that names it.
    launcher.write_text(launcher.read_text().replace(str(OWN), "/old/.venv/bin/anamnesis"))
    said = subprocess.run([launcher, "inject"], env={"HOME": str(user.home)}, capture_output=True, text=True)
    assert said.returncode == 127
    assert said.stderr == (
        "anamnesis: /old/.venv/bin/anamnesis is gone. Run `anamnesis init` with the program that is there now.\n"
    )
    assert faults(user).keys() == {".anamnesis/bin/anamnesis"}
    assert user.command("doctor", "--fix").code == 0
    assert user.files() == before
    assert str(OWN) in launcher.read_text()
    user.command("uninstall", "--agent", "zed")
    assert launcher.exists()
    user.command("uninstall")
    assert not launcher.parent.exists()


def test_the_launcher_finds_a_program_that_was_installed_for_the_user_later(user: User) -> None:
    user.command("init", "--agent", "claude")
    launcher = user.store / "bin/anamnesis"
    launcher.write_text(launcher.read_text().replace(str(OWN), "/old/.venv/bin/anamnesis"))
    (user.home / ".local/bin").mkdir(parents=True)
    installed = user.home / ".local/bin/anamnesis"
    variables = {"HOME": str(user.home)}
    installed.symlink_to(launcher)
    done = subprocess.run([launcher, "x"], env=variables, capture_output=True, timeout=30)
    assert done.returncode == 127, "a link to the launcher itself is not followed in a circle"
    installed.unlink()
    installed.write_text('#!/bin/sh\necho "got $*"\n')
    installed.chmod(0o755)
    assert subprocess.run([launcher, "a b"], env=variables, capture_output=True).stdout == b"got a b\n"


def test_a_link_outside_of_the_virtual_environment_is_used_as_it_is(user: User) -> None:
    """`uv tool install` and `pipx install` make such a link, and keep it when they upgrade."""
    (user.programs / "anamnesis").symlink_to(OWN)
    user.installs("claude")
    done = user.command("init", "--all", "--json").json
    assert (done["program"], done["runs"]) == (str(user.programs / "anamnesis"), None)
    hooks = json.loads((user.home / ".claude/settings.json").read_text())["hooks"]
    assert shlex.split(hooks["SessionStart"][0]["hooks"][0]["command"])[0] == str(user.programs / "anamnesis")
    assert not (user.store / "bin").exists()
    assert faults(user) == {}


def test_init_reports_that_it_runs_from_a_virtual_environment(user: User) -> None:
    user.installs("claude")
    shown = " ".join(user.answers("init", "--yes", typed="").split())
    assert f"Agents start ~/.anamnesis/bin/anamnesis, which runs {OWN}" in shown
    assert "If that folder moves, run `anamnesis init` there again." in shown


def test_a_plugin_beside_init_is_a_fault_until_one_of_them_is_gone(user: User) -> None:
    user.installs("claude")
    user.command("init", "--yes", "--local-only")
    settings = user.home / ".claude/settings.json"
    written = json.loads(settings.read_text())
    settings.write_text(json.dumps({**written, "enabledPlugins": {"anamnesis@anamnesis": True}}, indent=2))
    (fault,) = user.command("doctor", "--json").json["faults"]
    assert fault["subject"] == "Claude Code"
    assert "each tool is offered twice" in fault["fault"]
    assert "`anamnesis uninstall --agent claude`, or `claude plugin uninstall anamnesis@anamnesis`" in fault["fix"]
    assert user.command("init", "--yes").out == ""
    user.command("uninstall", "--agent", "claude", "--yes")
    assert json.loads(settings.read_text()) == {"enabledPlugins": {"anamnesis@anamnesis": True}}
    assert faults(user) == {}
