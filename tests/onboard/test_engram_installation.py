"""An existing Engram installation is redirected to us and restored; no other program or entry is changed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.onboard.machines import Machine

from anamnesis.onboard.agents import all_agents
from anamnesis.onboard.engram_installation import EngramInstallation, find_installation
from anamnesis.onboard.formats import engine
from anamnesis.onboard.ledger import Ledger
from anamnesis.onboard.place import Place
from anamnesis.onboard.plan import Plan
from anamnesis.onboard.program import Program, engram_options
from anamnesis.onboard.removal import plan_removal, tear_down
from anamnesis.onboard.setup import plan_setup, set_up

GO = "/opt/homebrew/bin/engram"
OPTIONS = ["mcp", "--tools=agent"]
USUAL = {"command": GO, "args": OPTIONS}
OPENCODE = {"type": "local", "command": [GO, *OPTIONS], "enabled": True}
# Where `engram setup` registers its server for each agent: the file, its format, the path in it, and the entry.
REGISTERED: dict[str, tuple[str, str, tuple[str, ...], dict[str, Any]]] = {
    "claude": (".claude.json", "json", ("mcpServers", "engram"), {"type": "stdio", **USUAL, "env": {}}),
    "codex": (".codex/config.toml", "toml", ("mcp_servers", "engram"), {"command": "engram", "args": OPTIONS}),
    "gemini": (".gemini/settings.json", "json", ("mcpServers", "engram"), USUAL),
    "opencode": (".config/opencode/opencode.json", "json", ("mcp", "engram"), OPENCODE),
    "antigravity": (".gemini/config/mcp_config.json", "json", ("mcpServers", "engram"), USUAL),
    "windsurf": (".codeium/windsurf/mcp_config.json", "json", ("mcpServers", "engram"), USUAL),
    "qwen": (".qwen/settings.json", "json", ("mcpServers", "engram"), USUAL),
    "kiro": (".kiro/settings/mcp.json", "json", ("mcpServers", "engram"), USUAL),
    "cursor": (".cursor/mcp.json", "json", ("mcpServers", "engram"), USUAL),
    "vscode": (".config/Code/User/mcp.json", "json", ("servers", "engram"), {"type": "stdio", **USUAL}),
    "kilo": (".config/kilo/opencode.json", "json", ("mcp", "engram"), OPENCODE),
    "cline": (".cline/data/settings/cline_mcp_settings.json", "json", ("mcpServers", "engram"), USUAL),
    "kimi": (".kimi-code/mcp.json", "json", ("mcpServers", "engram"), USUAL),
    "commandcode": (
        ".commandcode/mcp.json",
        "json",
        ("mcpServers", "engram"),
        {"transport": "stdio", "enabled": True, **USUAL},
    ),
    "pi": (".pi/agent/mcp.json", "json", ("mcpServers", "engram"), {"command": "engram", "args": OPTIONS}),
}


class Owner:
    """A user with a home folder, a PATH of three folders (the second is their own) and an engram.db."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.home = machine.home
        self.bin = self.home / ".local/bin"
        self.go = self.home.parent / "go/bin"
        for folder in (self.bin, self.go):
            folder.mkdir(parents=True)
        machine.variables["PATH"] = f"{self.home.parent / 'none'}:{self.bin}:{self.go}"
        self.database: Path | None = self.home / ".engram/engram.db"

    def installs(self, folder: Path | None = None) -> Path:
        program = (folder or self.go) / "engram"
        program.write_bytes(b"\x7fELF\xff\xfe go")
        program.chmod(0o755)
        return program

    def registers(self, name: str) -> Path:
        file, format, path, value = REGISTERED[name]
        target = self.home / file
        target.parent.mkdir(parents=True, exist_ok=True)
        text = target.read_text() if target.exists() else ""
        target.write_text(engine(format).put(text, path, value))
        return target

    def finds(self) -> EngramInstallation | None:
        place = Place(self.machine.system, self.home, self.machine.variables)
        return find_installation(place, self.machine.program, all_agents(place, self.machine.program), self.database)

    def init(self, *names: str) -> Plan:
        found = self.finds()
        assert found
        agents = [*(self.machine.agent(name) for name in names), found.agent]
        return set_up(plan_setup(agents), Ledger(self.machine.store))

    def uninstall(self, *names: str) -> Plan:
        place = Place(self.machine.system, self.home, self.machine.variables)
        agents = all_agents(place, self.machine.program)
        found = self.finds()
        everybody = [*agents, *([found.agent] if found else [])]
        leaving = names or [*(agent.name for agent in agents), "engram"]
        ledger = Ledger(self.machine.store)
        return tear_down(plan_removal(everybody, leaving, ledger, self.machine.home), leaving, ledger)

    def entry(self, name: str) -> dict[str, Any]:
        file, format, path, _ = REGISTERED[name]
        document = engine(format).read((self.home / file).read_text())
        for step in path:
            document = document[step]
        return dict(document)


@pytest.fixture
def owner(machine: Machine) -> Owner:
    return Owner(machine)


def words(entry: dict[str, Any]) -> list[str]:
    command = entry["command"]
    return command if isinstance(command, list) else [command, *entry["args"]]


@pytest.mark.parametrize("name", REGISTERED)
def test_the_entry_of_engram_setup_is_redirected_and_restored_byte_for_byte(owner: Owner, name: str) -> None:
    owner.registers(name)
    before = owner.machine.files()
    owner.init()
    entry, registered = owner.entry(name), REGISTERED[name][3]
    assert words(entry) == [*owner.machine.program.words, "engram", *OPTIONS]
    assert {**entry, "command": 0, "args": 0} == {**registered, "command": 0, "args": 0}
    assert not owner.init().changes
    owner.uninstall()
    assert owner.machine.files() == before


@pytest.mark.parametrize("name", REGISTERED)
def test_in_a_file_that_others_changed_since_only_our_command_is_reverted(owner: Owner, name: str) -> None:
    file = owner.registers(name)
    owner.machine.program = replace(owner.machine.program, store="/mnt/my notes")
    owner.init()
    assert "/mnt/my notes" in file.read_text()
    format = REGISTERED[name][1]
    file.write_text(engine(format).put(file.read_text(), ("theirs",), "new"))
    owner.uninstall()
    assert engine(format).read(file.read_text())["theirs"] == "new"
    assert {"env": {}, **owner.entry(name)} == {"env": {}, **REGISTERED[name][3]}
    assert "anamnesis" not in file.read_text()


def test_a_redirected_entry_starts_a_server_with_engrams_tools(owner: Owner) -> None:
    owner.registers("opencode")
    owner.machine.program = Program((str(Path(sys.executable).with_name("anamnesis")),), str(owner.home / "my notes"))
    owner.init()
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    asked = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}]
    asked += [{"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}]
    entry = owner.entry("opencode")
    done = subprocess.run(
        words(entry),
        input="".join(f"{json.dumps(each)}\n" for each in asked),
        env={"PATH": os.environ["PATH"], "HOME": str(owner.home), **entry["environment"]},
        capture_output=True,
        text=True,
        check=True,
    )
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["result"]["serverInfo"]["name"] == "engram"
    assert {"mem_save", "mem_search"} <= {tool["name"] for tool in second["result"]["tools"]}
    assert "mem_stats" not in {tool["name"] for tool in second["result"]["tools"]}, "its options count"


def test_an_entry_of_claude_code_is_found_although_our_plugin_is_installed(owner: Owner) -> None:
    owner.registers("claude")
    (owner.home / ".claude").mkdir()
    (owner.home / ".claude/settings.json").write_text('{"enabledPlugins": {"anamnesis@anamnesis": true}}')
    owner.init("claude")
    assert words(owner.entry("claude"))[1:] == ["engram", *OPTIONS]


def test_an_entry_follows_a_moved_program_and_is_still_restored(owner: Owner) -> None:
    file = owner.registers("cursor")
    owner.init()
    owner.machine.program = Program(("/new/anamnesis",))
    owner.init()
    assert words(owner.entry("cursor")) == ["/new/anamnesis", "engram", *OPTIONS]
    file.write_text(engine("json").put(file.read_text(), ("theirs",), 1))
    owner.uninstall()
    assert owner.entry("cursor") == USUAL


def test_an_entry_that_engram_has_rewritten_is_not_changed(owner: Owner) -> None:
    file = owner.registers("cursor")
    owner.init()
    anew = {"command": "/opt/engram 2/engram", "args": OPTIONS}
    file.write_text(json.dumps({"mcpServers": {"engram": anew}}))
    owner.uninstall()
    assert owner.entry("cursor") == anew


def test_options_that_the_user_added_are_kept_in_both_directions(owner: Owner) -> None:
    file = owner.registers("gemini")
    own = {"command": "engram", "args": ["mcp", "--project", "shop"], "trust": True}
    file.write_text(engine("json").put(file.read_text(), ("mcpServers", "engram"), own))
    owner.init()
    assert owner.entry("gemini")["args"] == ["engram", "mcp", "--project", "shop"]
    assert owner.entry("gemini")["trust"] is True
    file.write_text(file.read_text().replace('"shop"', '"bakery"'))
    owner.uninstall()
    assert owner.entry("gemini") == {**own, "args": ["mcp", "--project", "bakery"]}


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "node", "args": ["/src/engram/dist/index.js"]},
        {"command": "/venv/bin/python", "args": ["-m", "engram", "serve", "--mcp"]},
        {"command": "engram", "args": ["serve"]},
        {"url": "http://127.0.0.1:8377/mcp"},
        "engram",
    ],
)
def test_another_server_named_engram_is_not_changed(owner: Owner, entry: object) -> None:
    file = owner.home / ".cursor/mcp.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"mcpServers": {"engram": entry}}))
    assert not owner.init().changes


def test_both_servers_share_a_file_and_are_removed_separately(owner: Owner) -> None:
    file = owner.registers("cursor")
    before = file.read_bytes()
    owner.init("cursor")
    assert set(json.loads(file.read_bytes())["mcpServers"]) == {"engram", "anamnesis"}
    owner.uninstall("cursor")
    assert set(json.loads(file.read_bytes())["mcpServers"]) == {"engram"}
    assert engram_options(owner.entry("cursor")) == ("--tools=agent",)
    assert owner.entry("cursor")["args"][0] == "engram"
    owner.uninstall()
    assert json.loads(file.read_bytes()) == json.loads(before)


def test_without_an_engram_no_settings_are_read(owner: Owner) -> None:
    owner.database = None
    owner.registers("cursor")
    assert owner.finds() is None


def test_a_launcher_is_put_before_engrams_program_on_the_path_and_removed_again(owner: Owner) -> None:
    go = owner.installs()
    found = owner.finds()
    assert found
    assert (found.program, found.remarks) == (go, ())
    (change,) = owner.init().changes
    launcher = owner.bin / "engram"
    assert change.file == launcher
    assert shutil.which("engram", path=owner.machine.variables["PATH"]) == str(launcher)
    again = owner.finds()
    assert again
    assert (again.program, again.remarks) == (None, ())
    assert not owner.init().changes
    owner.uninstall()
    assert not launcher.exists()
    assert go.read_bytes() == b"\x7fELF\xff\xfe go"


def test_the_launcher_works_as_engram_on_the_configured_store(owner: Owner) -> None:
    owner.installs()
    store = owner.home / "my notes"
    owner.machine.program = Program((sys.executable, "-m", "anamnesis"), str(store))
    owner.init()
    environment = {"HOME": str(owner.home / "o'hara"), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [owner.bin / "engram", "save", "Title", "a 'b' \"c\" $d"], env=environment, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    shown = subprocess.run([owner.bin / "engram", "search", "title"], env=environment, capture_output=True, check=False)
    assert "a 'b' \"c\" $d" in shown.stdout.decode()
    assert (store / "engram.db").exists()


def test_the_launcher_follows_a_moved_program(owner: Owner) -> None:
    owner.installs()
    owner.init()
    owner.machine.program = Program(("/new place/anamnesis",))
    owner.init()
    assert (owner.bin / "engram").read_text().endswith("exec '/new place/anamnesis' engram \"$@\"\n")
    owner.uninstall()
    assert not (owner.bin / "engram").exists()


@pytest.mark.parametrize("in_the_way", ["a program", "a text", "a dead link", "a folder"])
def test_a_file_in_the_way_stays_and_a_remark_says_what_to_do(owner: Owner, in_the_way: str) -> None:
    owner.installs()
    place = owner.bin / "engram"
    if in_the_way == "a program":
        owner.installs(owner.bin)
    elif in_the_way == "a text":
        place.write_text("mine")
    elif in_the_way == "a dead link":
        place.symlink_to("/nowhere/engram")
    else:
        place.mkdir()
    before = os.lstat(place)
    found = owner.finds()
    assert found
    (remark,) = found.remarks
    assert str(found.program) in remark
    assert "~/.local/bin" in remark
    assert not owner.init().changes
    owner.uninstall()
    assert os.lstat(place) == before


@pytest.mark.parametrize("path", ["{go}", "{go}:{bin}", "{home}/bin:{go}", "/usr/sbin:{go}", "{bin}x:{go}"])
def test_without_an_own_folder_before_engrams_on_the_path_no_launcher_is_written(owner: Owner, path: str) -> None:
    go = owner.installs()
    owner.machine.variables["PATH"] = path.format(go=owner.go, bin=owner.bin, home=owner.home)
    found = owner.finds()
    assert found
    assert found.remarks[0].startswith(f"Plugins for Engram still call {go}: ")
    assert not owner.init().changes


@pytest.mark.skipif(os.geteuid() == 0, reason="to root, every folder is writable")
def test_a_folder_that_is_not_writable_is_skipped(owner: Owner) -> None:
    owner.installs()
    owner.bin.chmod(0o500)
    found = owner.finds()
    owner.bin.chmod(0o700)
    assert found
    assert found.remarks


def test_a_link_to_us_that_the_user_made_is_used_and_never_removed(owner: Owner) -> None:
    owner.installs()
    ours = owner.home / "tools/anamnesis"
    ours.parent.mkdir()
    ours.write_text("#!/bin/sh\n")
    ours.chmod(0o755)
    (owner.bin / "engram").symlink_to(ours)
    found = owner.finds()
    assert found
    assert (found.program, found.remarks) == (None, ())
    assert not owner.init().changes
    owner.uninstall()
    assert (owner.bin / "engram").is_symlink()


def test_a_program_that_replaced_our_launcher_is_not_removed(owner: Owner) -> None:
    owner.installs()
    owner.init()
    owner.installs(owner.bin)
    done = owner.uninstall()
    assert not done.refusals
    assert (owner.bin / "engram").read_bytes() == b"\x7fELF\xff\xfe go"


@pytest.mark.parametrize(
    ("file", "text", "title"),
    [
        (".claude/settings.json", '{"enabledPlugins": {"engram@engram": true}}', "Claude Code"),
        (".codex/config.toml", '[plugins."engram@engram"]\nenabled = true\n', "Codex CLI"),
        (".config/opencode/plugins/engram.ts", 'const ENGRAM_BIN = process.env.ENGRAM_BIN ?? "engram"', "OpenCode"),
        (".pi/agent/settings.json", '{"packages": ["npm:gentle-engram@0.1.16"]}', "Pi"),
    ],
)
def test_a_plugin_gets_a_launcher_even_if_engram_is_not_installed(
    owner: Owner, file: str, text: str, title: str
) -> None:
    (owner.home / file).parent.mkdir(parents=True)
    (owner.home / file).write_text(text)
    found = owner.finds()
    assert found
    assert found.plugins == (title,)
    (change,) = owner.init().changes
    assert change.file == owner.bin / "engram"


@pytest.mark.parametrize(
    ("line", "is_fixed"),
    [
        ('const ENGRAM_BIN = process.env.ENGRAM_BIN ?? Bun.which("engram") ?? "/opt/homebrew/bin/engram"', False),
        ('const ENGRAM_BIN = optionalEnvironmentValue(process.env.ENGRAM_BIN) ?? "engram"', False),
        ('const ENGRAM_BIN = optionalEnvironmentValue(process.env.ENGRAM_BIN) ?? "/opt/homebrew/bin/engram"', True),
    ],
)
def test_a_plugin_that_keeps_calling_engrams_own_program_is_reported(owner: Owner, line: str, is_fixed: bool) -> None:
    file = owner.home / ".config/opencode/plugins/engram.ts"
    file.parent.mkdir(parents=True)
    file.write_text(line)
    found = owner.finds()
    assert found
    assert any(str(file) in remark for remark in found.remarks) is is_fixed


def test_a_database_alone_needs_no_launcher(owner: Owner) -> None:
    found = owner.finds()
    assert found
    assert (found.agent.edits, found.plugins, found.remarks) == ((), (), ())
