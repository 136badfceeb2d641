"""A second setup, from another path or by another version, updates our entries and keeps the user's changes."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.onboard.machines import NAMES, PROGRAM, Machine

from anamnesis.onboard.formats import engine
from anamnesis.onboard.ledger import Ledger
from anamnesis.onboard.plan import Change, diff
from anamnesis.onboard.program import Program
from anamnesis.onboard.setup import plan_setup, set_up

MOVED = Program(("/new/anamnesis",))


def read(path: Path) -> Any:
    return json.loads(path.read_bytes())


@pytest.mark.parametrize("name", NAMES)
def test_a_moved_program_is_followed_and_no_entry_is_duplicated(machine: Machine, name: str) -> None:
    machine.add_samples(name)
    before = machine.files()
    machine.init(name)
    first = machine.files()
    machine.program = MOVED
    assert not machine.init(name).refusals
    second = machine.files()
    for path, content in second.items():
        assert b"kim o" not in content, path
        assert content.count(b"anamnesis") == first[path].count(b"anamnesis"), path
        assert content.count(b"\n") == first[path].count(b"\n") or path.endswith(".json"), path
    assert not machine.plan(name).changes
    machine.uninstall()
    assert machine.files() == before


@pytest.mark.parametrize("name", NAMES)
def test_another_store_is_named_in_every_entry_until_the_default_is_used_again(machine: Machine, name: str) -> None:
    machine.init(name)
    home = machine.files()
    machine.program = replace(PROGRAM, store="/mnt/my notes")
    machine.init(name)
    moved = machine.files()
    runs = {path for path in home if b".local/bin/anamnesis" in home[path]}
    assert runs
    assert all(b"/mnt/my notes" in moved[path] for path in runs)
    assert not machine.plan(name).changes
    machine.program = PROGRAM
    machine.init(name)
    came_home = machine.files()
    assert not any(b"/mnt/my notes" in content for content in came_home.values())
    for edit in machine.settings(name):
        path = str(edit.file.relative_to(machine.home))
        assert engine(edit.format).read(came_home[path].decode()) == engine(edit.format).read(home[path].decode())


def test_the_users_changes_in_our_server_entry_stay(machine: Machine) -> None:
    machine.init("claude", "codex", "cline")
    state = machine.home / ".claude.json"
    entry = read(state)["mcpServers"]["anamnesis"]
    changed = {**entry, "env": {"ANAMNESIS_INJECT_BUDGET": "4000"}, "alwaysLoad": True}
    state.write_text(json.dumps({"mcpServers": {"anamnesis": changed}}))
    machine.program = MOVED
    machine.init("claude")
    assert read(state)["mcpServers"]["anamnesis"] == {**changed, "command": "/new/anamnesis", "args": ["serve"]}


def test_the_users_changes_in_our_hooks_stay(machine: Machine) -> None:
    machine.init("claude")
    settings = machine.home / ".claude/settings.json"
    document = read(settings)
    (group, _) = document["hooks"]["SessionStart"]
    group["matcher"] = "startup"
    group["hooks"][0]["timeout"] = 99
    group["hooks"][0]["command"] += " --budget=2000"
    group["hooks"].insert(0, {"type": "command", "command": "date"})
    settings.write_text(json.dumps(document))
    machine.program = MOVED
    machine.init("claude")
    group = read(settings)["hooks"]["SessionStart"][0]
    assert group["matcher"] == "startup"
    assert group["hooks"] == [
        {"type": "command", "command": "date"},
        {"type": "command", "command": "/new/anamnesis inject --budget=2000", "timeout": 99},
    ]
    machine.uninstall()
    assert read(settings) == {
        "hooks": {"SessionStart": [{"matcher": "startup", "hooks": [{"type": "command", "command": "date"}]}]}
    }


def test_hooks_of_gemini_cli_that_never_ran_or_ran_too_often_are_removed(machine: Machine) -> None:
    """A matcher is compared as a whole there, and PreCompress runs before every request."""
    settings = machine.home / ".gemini/settings.json"
    settings.parent.mkdir()
    inject, capture = (f"/old/anamnesis {words} --host=gemini" for words in ("inject --sync", "capture --no-sync"))
    own = {"type": "command", "command": "date"}
    start = {"matcher": "startup|resume|clear", "hooks": [{"type": "command", "command": inject}]}
    compress = {"hooks": [own, {"type": "command", "command": capture}]}
    settings.write_text(json.dumps({"hooks": {"SessionStart": [start], "PreCompress": [compress]}}))
    machine.program = MOVED
    machine.init("gemini")
    hooks = read(settings)["hooks"]
    assert "SessionStart" not in hooks
    assert hooks["PreCompress"] == [{"hooks": [own]}]
    assert hooks["AfterAgent"][0]["hooks"][0]["command"] == "/new/anamnesis capture --no-sync --host=gemini"
    machine.uninstall()
    assert read(settings) == {"hooks": {"PreCompress": [{"hooks": [own]}]}}


def test_qwen_code_captures_after_each_turn_and_shows_its_model_the_tools(machine: Machine) -> None:
    """It reports the end of a session only with a terminal, and hides tools of servers behind a search."""
    machine.init("qwen")
    document = read(machine.home / ".qwen/settings.json")
    (turn,) = document["hooks"]["Stop"]
    assert turn["hooks"][0]["command"].endswith("capture --no-sync --host=qwen")
    assert document["mcpServers"]["anamnesis"]["alwaysLoadTools"] is True


def test_an_entry_written_by_hand_is_updated_in_place(machine: Machine) -> None:
    """The first versions told people to write these lines."""
    settings = machine.home / ".claude/settings.json"
    settings.parent.mkdir()
    hook = {"type": "command", "command": "anamnesis inject", "timeout": 15}
    settings.write_text(json.dumps({"hooks": {"SessionStart": [{"hooks": [hook]}]}}))
    machine.init("claude")
    groups = read(settings)["hooks"]["SessionStart"]
    assert [shlex.split(group["hooks"][0]["command"])[1:] for group in groups] == [["inject"], ["sync"]]
    machine.uninstall()
    assert read(settings) == {}


def test_a_remote_server_entry_is_not_changed(machine: Machine) -> None:
    state = machine.home / ".claude.json"
    entry = {"type": "http", "url": "https://memory.example.com/mcp"}
    state.write_text(json.dumps({"mcpServers": {"anamnesis": entry}}))
    machine.init("claude")
    assert read(state)["mcpServers"]["anamnesis"] == entry


def test_claude_code_with_our_plugin_gets_no_edits(machine: Machine) -> None:
    settings = machine.home / ".claude/settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"enabledPlugins": {"anamnesis@anamnesis": True}}))
    before = machine.files()
    assert not machine.init("claude").changes
    assert machine.files() == before
    assert "plugin" in machine.agent("claude").remark


def test_reworded_instructions_stay(machine: Machine) -> None:
    machine.init("zed")
    text = machine.home / ".config/zed/AGENTS.md"
    text.write_text("Mine.\n\n" + text.read_text().replace("is your long-term memory", "remembers"))
    before = text.read_text()
    machine.init("zed")
    assert text.read_text() == before
    machine.uninstall()
    assert text.read_text() == "Mine.\n"


def test_each_change_is_backed_up_and_the_first_content_is_restored(machine: Machine) -> None:
    machine.add_samples("claude")
    before = machine.files()
    machine.init("claude")
    machine.program = MOVED
    machine.init("claude")
    state = machine.home / ".claude.json"
    ledger = Ledger(machine.store)
    assert len(ledger.records(state)) == 2
    copies = {path.name: path.read_bytes() for path in ledger.folder.glob("0*")}
    assert before[".claude.json"] in copies.values()
    assert len(set(copies.values())) == 4
    machine.uninstall()
    assert machine.files() == before
    assert [path.name for path in ledger.folder.iterdir()] == ["ledger.json"]


def test_changes_of_others_between_two_setups_stay(machine: Machine) -> None:
    machine.add_samples("claude")
    machine.init("claude")
    state = machine.home / ".claude.json"
    state.write_text(state.read_text().replace('"numStartups": 412', '"numStartups": 413'))
    machine.program = MOVED
    machine.init("claude")
    machine.uninstall()
    assert read(state)["numStartups"] == 413
    assert "anamnesis" not in state.read_text()


def test_a_file_that_changed_since_it_was_planned_is_planned_again(machine: Machine) -> None:
    """Claude Code rewrites its file all the time."""
    machine.add_samples("claude")
    plan = machine.plan("claude")
    state = machine.home / ".claude.json"
    state.write_text(state.read_text().replace('"numStartups": 412', '"numStartups": 999'))
    done = set_up(plan, Ledger(machine.store))
    assert not done.refusals
    document = read(state)
    assert document["numStartups"] == 999
    assert "anamnesis" in document["mcpServers"]


def test_a_file_that_another_program_keeps_writing_is_refused(machine: Machine) -> None:
    machine.add_samples("claude")
    state = machine.home / ".claude.json"

    class Restless(Ledger):
        """A ledger during whose backups another program writes the file."""

        def keep(self, target: Path, content: bytes) -> str:
            state.write_bytes(state.read_bytes() + b" ")
            return super().keep(target, content)

    plan = plan_setup([machine.agent("claude")])
    done = set_up(plan, Restless(machine.store))
    (refusal,) = [refusal for refusal in done.refusals if refusal.file == state]
    assert "Another program keeps writing it" in refusal.reason
    assert "anamnesis" not in state.read_text()
    assert [change.file.name for change in done.changes] == ["settings.json"]


def test_one_refusal_does_not_stop_the_others(machine: Machine) -> None:
    machine.add_samples("claude")
    (machine.home / ".claude.json").write_text("{")
    done = machine.init("claude", "zed")
    assert [refusal.file.name for refusal in done.refusals] == [".claude.json"]
    assert {change.file.name for change in done.changes} == {"settings.json", "AGENTS.md"}
    assert len(done.changes) == 3


def test_a_section_of_another_type_is_refused_and_null_counts_as_missing(machine: Machine) -> None:
    file = machine.home / ".cursor/mcp.json"
    file.parent.mkdir()
    file.write_text('{"mcpServers": ["x"]}')
    (refusal,) = machine.init("cursor").refusals
    assert "mcpServers is a list" in refusal.reason
    file.write_text('{"mcpServers": null}')
    assert not machine.init("cursor").refusals


@pytest.mark.parametrize("content", [b"\xff\xfe{\x00}\x00", b'{"a": "\xe9"}', b"[]", b'"x"', b"\0"])
def test_a_file_that_is_not_a_settings_file_is_refused(machine: Machine, content: bytes) -> None:
    file = machine.home / ".cursor/mcp.json"
    file.parent.mkdir()
    file.write_bytes(content)
    (refusal,) = machine.init("cursor").refusals
    assert refusal.file == file
    assert file.read_bytes() == content


def test_dangling_links_and_folders_are_refused(machine: Machine) -> None:
    folder = machine.home / ".cursor"
    folder.mkdir()
    (folder / "mcp.json").symlink_to("/nowhere/at/all/mcp.json")
    (folder / "hooks.json").mkdir()
    reasons = {refusal.file.name: refusal.reason for refusal in machine.init("cursor").refusals}
    assert "does not exist" in reasons["mcp.json"]
    assert "directory" in reasons["hooks.json"]


def test_a_loop_of_links_is_refused(machine: Machine) -> None:
    folder = machine.home / ".cursor"
    folder.mkdir()
    (folder / "mcp.json").symlink_to("mcp.json")
    assert [refusal.file.name for refusal in machine.init("cursor").refusals] == ["mcp.json"]


def test_agents_that_share_a_file_are_removed_one_by_one(machine: Machine) -> None:
    hooks = machine.home / ".copilot/hooks/anamnesis.json"
    machine.init("vscode")
    machine.init("copilot")
    machine.uninstall("copilot")
    assert hooks.exists()
    assert not (machine.home / ".copilot/mcp-config.json").exists()
    machine.uninstall("vscode")
    assert machine.files() == {}


def test_one_agent_can_be_removed_alone(machine: Machine) -> None:
    machine.init("claude", "zed")
    machine.uninstall("zed")
    assert set(machine.files()) == {".claude.json", ".claude/settings.json"}
    assert not machine.plan("claude").changes


def test_files_set_up_under_a_variable_are_removed_without_it(machine: Machine) -> None:
    machine.variables = {"CLAUDE_CONFIG_DIR": str(machine.home / "elsewhere")}
    machine.init("claude")
    state = machine.home / "elsewhere/.claude.json"
    state.write_text(json.dumps({**read(state), "numStartups": 1}))
    machine.variables = {}
    machine.uninstall()
    assert machine.files() == {"elsewhere/.claude.json": b'{"numStartups": 1}'}


def test_an_unreadable_ledger_is_renamed_and_our_entries_are_still_found(machine: Machine) -> None:
    machine.init("claude")
    path = machine.store / "backups/ledger.json"
    path.write_text("{")
    machine.init("zed")
    assert path.with_suffix(".unreadable").read_text() == "{"
    machine.uninstall()
    assert "anamnesis" not in str(machine.files())


def test_a_missing_backup_does_not_prevent_a_removal(machine: Machine) -> None:
    machine.add_samples("claude")
    machine.init("claude")
    for path in (machine.store / "backups").glob("0*"):
        path.unlink()
    assert not machine.uninstall().refusals
    assert "anamnesis" not in str(machine.files())


def test_a_setup_that_was_killed_before_it_wrote_leaves_nothing_to_undo(machine: Machine) -> None:
    machine.add_samples("claude")
    before = machine.files()
    plan, ledger = machine.plan("claude"), Ledger(machine.store)
    for change in plan.changes:
        traces = [edit.trace() for edit in change.edits]
        ledger.add(change.target, change.old, change.new, agents=change.agents, traces=traces)
    assert not machine.uninstall().changes
    assert machine.files() == before


def test_commands_on_windows_are_for_its_shells(machine: Machine) -> None:
    machine.system = "windows"
    machine.program = Program(("C:\\Users\\Kim O'Hara\\anamnesis.exe",), windows=True)
    machine.init("codex", "copilot", "claude")
    (group,) = read(machine.home / ".codex/hooks.json")["hooks"]["UserPromptSubmit"]
    assert group["hooks"][0]["commandWindows"] == '"C:\\Users\\Kim O\'Hara\\anamnesis.exe" recall --host=codex'
    (handler,) = read(machine.home / ".copilot/hooks/anamnesis.json")["hooks"]["userPromptSubmitted"]
    assert handler["powershell"] == "& 'C:\\Users\\Kim O''Hara\\anamnesis.exe' 'recall' '--host=copilot'"
    assert "bash" not in handler
    (group,) = read(machine.home / ".claude/settings.json")["hooks"]["UserPromptSubmit"]
    assert (group["hooks"][0]["command"], group["hooks"][0]["args"]) == (machine.program.words[0], ["recall"])
    assert not machine.plan("codex", "copilot", "claude").changes


def test_a_diff_shows_the_changes_without_secrets_of_others(machine: Machine) -> None:
    machine.add_samples("claude")
    state = machine.home / ".claude.json"
    token = "ghp_" + "aB3dE5" * 6
    state.write_text(state.read_text().replace('"env": {}', f'"env": {{"TOKEN": "{token}"}}'))
    (change, _) = machine.plan("claude").changes
    shown = diff(change)
    assert token not in shown
    assert '+    "anamnesis": {' in shown
    assert shown.startswith(f"--- {state}\n+++ {state}\n@@ ")
    gone = diff(Change(state, state, b"a\n", None, lambda _: None, (), ()))
    assert gone == f"--- {state}\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
