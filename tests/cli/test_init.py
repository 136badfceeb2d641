"""`anamnesis init` and `anamnesis uninstall` as people and scripts run them, in a home of their own."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.command import Command
from tests.cli.test_terminal import plain

from anamnesis.onboard.agents import AGENTS


class User:
    """Somebody with a home folder and some agents on the PATH."""

    def __init__(self, command: Command) -> None:
        self.command = command
        self.home = command.folder / "home"
        self.programs = command.folder / "bin"
        self.programs.mkdir()
        command.variables["PATH"] = f"{self.programs}:/usr/bin:/bin"
        del command.variables["ANAMNESIS_HOME"]
        self.store = self.home / ".anamnesis"

    def installs(self, *programs: str) -> None:
        for name in programs:
            (self.programs / name).write_text("#!/bin/sh\n")
            (self.programs / name).chmod(0o755)

    def files(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.home)): path.read_bytes()
            for path in sorted(self.home.rglob("*"))
            if path.is_file() and not path.is_relative_to(self.store)
        }

    def answers(self, *arguments: str, typed: str, then: dict[str, str] | None = None) -> str:
        """What a person sees who types these answers, and `then` one at each of these questions, in their order.

        A question with a hidden answer drops what was typed before it and after the answer.
        """
        later = list((then or {}).items())
        controller, terminal = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "anamnesis", *arguments],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            cwd=self.command.folder,
            env={**self.command.variables, "COLUMNS": "100", "LINES": "40", "TERM": "xterm-256color"},
        )
        os.close(terminal)
        os.write(controller, typed.encode())
        shown = b""
        try:
            while part := os.read(controller, 65536):
                shown += part
                while later and later[0][0].encode() in shown:
                    os.write(controller, later.pop(0)[1].encode())
        except OSError:  # Linux says so when the last writer has gone
            pass
        os.close(controller)
        process.wait(timeout=60)
        return plain(shown.decode().replace("\r\n", "\n"))


@pytest.fixture
def user(anamnesis: Command) -> User:
    return User(anamnesis)


def test_init_sets_up_the_found_agents_and_uninstall_reverts_it(user: User) -> None:
    user.installs("claude", "codex", "zed", "goose")
    done = user.command("init", "--all", "--yes")
    assert (done.code, done.err) == (0, "")
    rows = [line.split("\t") for line in done.out.splitlines()]
    assert [(row[0], Path(row[1]).name, row[2]) for row in rows] == [
        ("create", "anamnesis", "claude codex zed goose"),
        ("create", ".claude.json", "claude"),
        ("create", "settings.json", "claude"),
        ("create", "config.toml", "codex"),
        ("create", "hooks.json", "codex"),
        ("create", "settings.json", "zed"),
        ("create", "config.yaml", "goose"),
    ]
    program = json.loads(user.files()[".claude.json"])["mcpServers"]["anamnesis"]["command"]
    assert Path(program).is_absolute()
    assert subprocess.run([program, "--version"], check=True, capture_output=True).stdout.startswith(b"anamnesis")
    note = user.command("write", "Title", "body").out.strip()
    gone = user.command("uninstall")
    left = f"Left: {user.store} (1 note, the settings and the agents' files before their changes)."
    assert (gone.code, gone.err) == (0, f"anamnesis: {left}\n")
    assert len(gone.out.splitlines()) == 7
    assert user.files() == {}
    assert note in user.command("list").out


def test_doing_it_again_changes_nothing(user: User) -> None:
    user.installs("claude", "gemini")
    user.command("init", "--all")
    before, config = user.files(), (user.store / "config.json").read_bytes()
    kept = sorted((user.store / "backups").iterdir())
    done = user.command("init", "--all")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert user.files() == before
    assert (user.store / "config.json").read_bytes() == config
    assert sorted((user.store / "backups").iterdir()) == kept


def test_print_shows_a_diff_and_writes_nothing(user: User) -> None:
    user.installs("claude")
    done = user.command("init", "--print", "--remote", "git@host:notes.git")
    assert (done.code, done.err) == (0, "")
    assert "config.json: machine_id = thinkpad\n" in done.out
    assert "config.json: remote = git@host:notes.git\n" in done.out
    assert f"--- /dev/null\n+++ {user.home}/.claude.json\n@@ -0,0 +1,11 @@\n+{{\n" in done.out
    assert list(user.home.iterdir()) == []
    user.command("init", "--all")
    before = user.files()
    gone = user.command("uninstall", "--print")
    assert "+++ /dev/null\n" in gone.out
    assert user.files() == before


def test_without_a_terminal_it_never_asks(user: User) -> None:
    user.installs("claude", "zed")
    done = user.command("init")
    assert done.code == 2
    assert "Name agents with --agent, or take those that are found with --all: claude, zed." in done.err
    assert list(user.home.iterdir()) == []
    assert user.command("init", "--yes").code == 0
    assert ".config/zed/settings.json" in user.files()


def test_an_agent_can_be_named_whether_it_is_found_or_not(user: User) -> None:
    user.installs("claude")
    assert user.command("init", "--agent", "cursor", "--agent", "kimi").code == 0
    assert set(user.files()) == {
        ".cursor/mcp.json",
        ".cursor/hooks.json",
        ".kimi-code/mcp.json",
        ".kimi-code/config.toml",
    }
    assert user.command("uninstall", "--agent", "kimi").code == 0
    assert set(user.files()) == {".cursor/mcp.json", ".cursor/hooks.json"}
    assert user.command("init", "--agent", "emacs").code == 2


def test_init_succeeds_without_any_agent(user: User) -> None:
    done = user.command("init", "--all")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert (user.store / "config.json").exists()
    assert user.command("uninstall").code == 0


def test_instructions_are_only_written_if_they_are_wanted(user: User) -> None:
    user.installs("zed")
    user.command("init", "--all")
    assert ".config/zed/AGENTS.md" not in user.files()
    user.command("init", "--all", "--instructions")
    assert b"memory_search" in user.files()[".config/zed/AGENTS.md"]
    user.command("uninstall")
    assert user.files() == {}


def test_a_broken_file_is_named_with_the_lines_to_add_and_the_rest_is_done(user: User) -> None:
    user.installs("claude", "zed")
    (user.home / ".claude.json").write_text('{"mcpServers": {')
    done = user.command("init", "--all")
    assert done.code == 1
    assert f"Left alone: {user.home}/.claude.json: line 1" in done.err
    assert 'Add these lines yourself:\n    {\n      "mcpServers": {\n        "anamnesis": {\n' in done.err
    assert (user.home / ".claude.json").read_text() == '{"mcpServers": {'
    assert {".claude/settings.json", ".config/zed/settings.json"} <= user.files().keys()


def test_json_says_everything(user: User) -> None:
    user.installs("codex")
    (user.home / ".codex").mkdir()
    (user.home / ".codex/hooks.json").write_text("{")
    done = user.command("init", "--all", "--json", "--remote", "/srv/notes.git")
    assert done.code == 1
    told = done.json
    assert (told["home"], told["machine_id"], told["remote"]) == (str(user.store), "thinkpad", "/srv/notes.git")
    assert told["written"] is True
    (agent,) = told["agents"]
    assert (agent["name"], agent["mcp"], agent["start"], agent["prompt"], agent["end"]) == (
        "codex",
        True,
        True,
        True,
        True,
    )
    assert "/hooks" in agent["remark"]
    (launcher, change) = told["changes"]
    assert launcher["file"] == told["program"]
    assert (change["action"], change["agents"]) == ("create", ["codex"])
    assert "+[mcp_servers.anamnesis]" in change["diff"]
    (refusal,) = told["refusals"]
    assert "SessionStart" in refusal["by_hand"]
    assert json.loads((user.store / "config.json").read_text())["remote"] == "/srv/notes.git"
    planned = user.command("uninstall", "--json", "--print").json
    assert planned["written"] is False
    assert [change["action"] for change in planned["changes"]] == ["remove", "remove"]


def test_a_store_that_began_alone_gets_its_remote_later_and_may_lose_it_again(user: User) -> None:
    def remote() -> object:
        return json.loads((user.store / "config.json").read_text()).get("remote")

    assert user.command("init", "--yes", "--local-only").code == 0
    assert remote() is None
    assert user.command("init", "--yes", "--remote", "git@host:notes.git").code == 0
    assert remote() == "git@host:notes.git"
    user.command("init", "--yes")
    assert remote() == "git@host:notes.git"
    user.command("init", "--yes", "--local-only")
    assert remote() is None
    assert user.command("init", "--yes", "--local-only", "--remote", "x").code == 2
    done = user.command("init", "--yes", "--remote=--upload-pack=evil")
    assert (done.code, done.err.count("\n")) == (1, 1)


def test_the_machines_name_is_fixed_when_it_is_first_set_up(user: User) -> None:
    user.command("init", "--yes", ANAMNESIS_MACHINE_ID="Kim's laptop")
    assert json.loads((user.store / "config.json").read_text())["machine_id"] == "Kim-s-laptop"
    user.command("init", "--yes", ANAMNESIS_MACHINE_ID="other")
    assert json.loads((user.store / "config.json").read_text())["machine_id"] == "Kim-s-laptop"


def test_a_broken_configuration_is_reported_before_any_change(user: User) -> None:
    user.installs("claude")
    user.store.mkdir()
    (user.store / "config.json").write_text("{")
    done = user.command("init", "--all")
    assert done.code == 1
    assert "config.json, line 1: " in done.err
    assert user.files() == {}


def test_init_imports_claude_codes_memory(user: User) -> None:
    memory = user.home / ".claude/projects/-work-shop/memory"
    memory.mkdir(parents=True)
    (memory / "testing.md").write_text("---\nname: testing\ndescription: Run the tests with make\n---\nAlways.\n")
    assert user.command("init", "--all", "--json").json["imported"] == {
        "new": 1,
        "updated": 0,
        "unchanged": 0,
        "left": 0,
    }
    assert "Run the tests with make" in user.command("list").out


def test_init_shows_the_found_agents_and_asks(user: User) -> None:
    user.installs("claude", "zed", "codex")
    shown = user.answers("init", typed="1 zed\ny\n/srv/notes.git\n\ny\n")
    assert re.search(r"1 +Claude Code +✓ +✓ +✓ +✓", shown)
    assert re.search(r"3 +Zed +✓ +– +– +–", shown)
    assert "Zed: no hooks. Add a line about the memory to the instructions?" in shown
    assert re.search(r"✓ +Claude Code +✓ +✓ +✓ +✓ +2 new", shown)
    assert "5 files written (5 new)." in shown
    assert "No hook can give notes to Zed: the model has to search for them." in shown
    assert "No hook reports the end of a session of Zed: their sessions are not captured." in shown
    assert "Next: restart Claude Code and Zed to give them a memory." in shown
    assert b"memory_search" in user.files()[".config/zed/AGENTS.md"]
    assert ".codex/config.toml" not in user.files()
    assert json.loads((user.store / "config.json").read_text())["remote"] == "/srv/notes.git"
    again = user.answers("init", typed="all\ny\n")
    assert re.search(r"1 +Claude Code .* set up", again)
    assert re.search(r"✓ +Claude Code .* as before", again)
    assert "trust" in again
    gone = user.answers("uninstall", typed="y\n")
    assert f"Left: {user.store} (0 notes, the settings" in gone
    assert "Left: /srv/notes.git (the git remote)." in gone
    assert user.files() == {}


def test_a_wrong_answer_is_asked_again_and_no_changes_nothing(user: User) -> None:
    user.installs("claude")
    shown = user.answers("init", typed="7\nclaude\n--bad\n\nn\nn\n")
    assert "7 is not in the list." in shown
    assert "is not the address of a git repository" in shown
    assert user.files() == {}
    assert not user.store.exists()


def test_a_person_is_offered_a_model_that_summarises_and_nobody_else_is(user: User) -> None:
    user.installs("claude")
    key = "k" * 20
    typed = "all\n\ny\nftp://x\nhttp://localhost:11434/v1\n\n"
    shown = user.answers("init", typed=typed, then={"API key": f"{key}\n", "Change th": "y\n"})
    assert "Let a model summarise it instead?" in shown
    assert "reflection_base_url 'ftp://x' is not an http or https address." in shown
    assert key not in shown
    config = json.loads((user.store / "config.json").read_text())
    del config["machine_id"]
    assert config == {
        "reflection_provider": "openai",
        "reflection_base_url": "http://localhost:11434/v1",
        "reflection_model": "gpt-4o-mini",
        "reflection_api_key": key,
    }
    assert "model" not in user.answers("init", typed="all\n"), "it is asked once"


def test_yes_takes_the_defaults_and_asks_nothing(user: User) -> None:
    user.installs("claude")
    assert "?" not in user.answers("init", "--yes", typed="")
    assert json.loads((user.store / "config.json").read_text()).keys() == {"machine_id"}


def test_the_output_fits_a_small_and_a_large_terminal(user: User) -> None:
    chosen = [word for name in AGENTS for word in ("--agent", name)]
    shown = plain(user.command.on_terminal("init", "--yes", *chosen, COLUMNS="60"))
    lines = shown.splitlines()
    assert max(map(len, lines)) <= 60
    assert len(lines) < 60
    assert f"{len(user.files()) + 1} files written" in shown


def test_a_first_sync_that_is_refused_stops_nothing(user: User) -> None:
    user.installs("claude")
    user.store.mkdir(mode=0o700)
    (user.store / "config.json").write_text('{"machine_id": "a b"}')
    done = user.command("init", "--all", "--remote", str(user.home / "notes.git"), ANAMNESIS_MACHINE_ID="")
    assert (done.code, done.err.count("\n")) == (0, 1)
    assert ".claude/settings.json" in user.files()


def test_the_first_sync_receives_the_notes_of_other_machines(user: User) -> None:
    remote = user.home / "notes.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(remote)], check=True)
    other = {"ANAMNESIS_HOME": str(user.command.folder / "other")}
    user.command("write", "From elsewhere", "zebra", **other)
    assert user.command("sync", **other, ANAMNESIS_GIT_REMOTE=str(remote)).code == 0
    shown = plain(user.command.on_terminal("init", "--yes", "--remote", str(remote)))
    assert f"Synced with {remote}." in " ".join(shown.split())
    assert "From elsewhere" in user.command("list").out


def test_every_agent_is_named_in_the_help(user: User) -> None:
    words = user.command("init", "--help").out.replace(",", " ").replace(".", " ").split()
    assert set(AGENTS) <= set(words)


def test_an_unreachable_remote_is_reported_and_stops_nothing(anamnesis: Command) -> None:
    (anamnesis.folder / "home" / ".claude").mkdir()
    done = anamnesis("init", "--agent", "claude", "--remote", str(anamnesis.folder / "nowhere.git"))
    assert done.code == 0
    assert "does not appear to be a git repository" in done.err
    assert (anamnesis.folder / "home" / ".claude" / "settings.json").exists()


@pytest.mark.parametrize("name", ["claude-code", "Claude Code", "claude"])
def test_an_agent_may_be_named_as_its_makers_write_it(anamnesis: Command, name: str) -> None:
    assert "settings.json" in anamnesis("init", "--agent", name).out
