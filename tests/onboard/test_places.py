"""Where each agent keeps its settings, on each system and with the variables that move them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.onboard.machines import NAMES, Machine

APP = "Library/Application Support"
ROAM = "AppData/Roaming"
# A path that is the same on every system, or one for each of Linux, macOS and Windows.
PLACES: dict[str, list[str | tuple[str, str, str]]] = {
    "claude": [".claude.json", ".claude/settings.json"],
    "codex": [".codex/config.toml", ".codex/hooks.json"],
    "gemini": [".gemini/settings.json"],
    "opencode": [".config/opencode/opencode.json", ".config/opencode/plugins/anamnesis.js"],
    "cursor": [".cursor/mcp.json", ".cursor/hooks.json"],
    "vscode": [
        (".config/Code/User/mcp.json", f"{APP}/Code/User/mcp.json", f"{ROAM}/Code/User/mcp.json"),
        ".copilot/hooks/anamnesis.json",
    ],
    "copilot": [".copilot/mcp-config.json", ".copilot/hooks/anamnesis.json"],
    "windsurf": [
        ".codeium/windsurf/mcp_config.json",
        ".codeium/windsurf/hooks.json",
        ".codeium/windsurf/memories/global_rules.md",
    ],
    "zed": [
        (".config/zed/settings.json", ".config/zed/settings.json", f"{ROAM}/Zed/settings.json"),
        (".config/zed/AGENTS.md", ".config/zed/AGENTS.md", f"{ROAM}/Zed/AGENTS.md"),
    ],
    "qwen": [".qwen/settings.json"],
    "cline": [".cline/data/settings/cline_mcp_settings.json", ".cline/plugins/anamnesis.js"],
    "kiro": [".kiro/settings/mcp.json", ".kiro/hooks/anamnesis.json"],
    "amp": [".config/amp/settings.json", ".config/amp/AGENTS.md"],
    "goose": [
        (".config/goose/config.yaml", ".config/goose/config.yaml", f"{ROAM}/Block/goose/config/config.yaml"),
        (".config/goose/.goosehints", ".config/goose/.goosehints", f"{ROAM}/Block/goose/config/.goosehints"),
    ],
    "crush": [".config/crush/crush.json", ".config/crush/CRUSH.md"],
    "roo": [
        (
            ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
            f"{APP}/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
            f"{ROAM}/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
        ),
        ".roo/rules/anamnesis.md",
    ],
    "kilo": [".config/kilo/kilo.jsonc", ".config/kilo/plugin/anamnesis.js"],
    "continue": [".continue/config.yaml", ".continue/rules/anamnesis.md"],
    "droid": [".factory/mcp.json", ".factory/settings.json"],
    "antigravity": [".gemini/config/mcp_config.json", ".gemini/config/hooks.json"],
    "kimi": [".kimi-code/mcp.json", ".kimi-code/config.toml"],
    "grok": [".grok/config.toml", ".grok/hooks/anamnesis.json", ".grok/rules/anamnesis.md"],
    "claude-desktop": [
        (
            ".config/Claude/claude_desktop_config.json",
            f"{APP}/Claude/claude_desktop_config.json",
            f"{ROAM}/Claude/claude_desktop_config.json",
        )
    ],
}


def places(machine: Machine, name: str) -> list[str]:
    return [str(edit.file.relative_to(machine.home)) for edit in machine.edits(name)]


@pytest.mark.parametrize(("number", "system"), list(enumerate(["linux", "macos", "windows"])))
@pytest.mark.parametrize("name", NAMES)
def test_each_system_has_its_own_paths(machine: Machine, name: str, number: int, system: str) -> None:
    machine.system = system
    assert places(machine, name) == [each if isinstance(each, str) else each[number] for each in PLACES[name]]


@pytest.mark.parametrize(
    ("name", "variable", "value", "expected"),
    [
        ("claude", "CLAUDE_CONFIG_DIR", "c", ["c/.claude.json", "c/settings.json"]),
        ("codex", "CODEX_HOME", "c", ["c/config.toml", "c/hooks.json"]),
        ("gemini", "GEMINI_CLI_HOME", "g", ["g/.gemini/settings.json"]),
        ("opencode", "OPENCODE_CONFIG", "o.json", ["o.json", ".config/opencode/plugins/anamnesis.js"]),
        ("opencode", "OPENCODE_CONFIG_DIR", "o", ["o/opencode.json", "o/plugins/anamnesis.js"]),
        ("opencode", "XDG_CONFIG_HOME", "x", ["x/opencode/opencode.json", "x/opencode/plugins/anamnesis.js"]),
        ("copilot", "COPILOT_HOME", "p", ["p/mcp-config.json", "p/hooks/anamnesis.json"]),
        ("zed", "XDG_CONFIG_HOME", "x", ["x/zed/settings.json", "x/zed/AGENTS.md"]),
        ("qwen", "QWEN_HOME", "q", ["q/settings.json"]),
        ("cline", "CLINE_MCP_SETTINGS_PATH", "m.json", ["m.json", ".cline/plugins/anamnesis.js"]),
        ("cline", "CLINE_DATA_DIR", "d", ["d/settings/cline_mcp_settings.json", ".cline/plugins/anamnesis.js"]),
        ("cline", "CLINE_DIR", "c", ["c/data/settings/cline_mcp_settings.json", "c/plugins/anamnesis.js"]),
        ("kiro", "KIRO_HOME", "k", ["k/settings/mcp.json", "k/hooks/anamnesis.json"]),
        ("goose", "GOOSE_PATH_ROOT", "g", ["g/config/config.yaml", "g/config/.goosehints"]),
        ("crush", "CRUSH_GLOBAL_CONFIG", "c", ["c/crush.json", "c/CRUSH.md"]),
        ("kilo", "KILO_CONFIG_DIR", "k", ["k/kilo.jsonc", "k/plugin/anamnesis.js"]),
        ("continue", "CONTINUE_GLOBAL_DIR", "c", ["c/config.yaml", "c/rules/anamnesis.md"]),
        ("kimi", "KIMI_CODE_HOME", "k", ["k/mcp.json", "k/config.toml"]),
        ("grok", "GROK_HOME", "g", ["g/config.toml", "g/hooks/anamnesis.json", "g/rules/anamnesis.md"]),
    ],
)
def test_a_variable_moves_an_agents_files(
    machine: Machine, name: str, variable: str, value: str, expected: list[str]
) -> None:
    machine.variables = {variable: str(machine.home / value)}
    assert places(machine, name) == expected
    machine.variables = {variable: f"~/{value}"}
    assert places(machine, name) == expected


def test_every_existing_folder_of_vs_code_is_set_up(machine: Machine) -> None:
    for folder in ("Code - Insiders/User", "VSCodium/User/profiles/-4f2a", "VSCodium/User/profiles/7c1b"):
        (machine.home / ".config" / folder).mkdir(parents=True)
    assert places(machine, "vscode") == [
        ".config/Code - Insiders/User/mcp.json",
        ".config/VSCodium/User/mcp.json",
        ".config/VSCodium/User/profiles/-4f2a/mcp.json",
        ".config/VSCodium/User/profiles/7c1b/mcp.json",
        ".copilot/hooks/anamnesis.json",
    ]


def test_windsurf_devin_and_the_jetbrains_plugin_are_set_up(machine: Machine) -> None:
    (machine.home / ".config/devin").mkdir(parents=True)
    assert places(machine, "windsurf") == [".config/devin/mcp_config.json", ".config/devin/config.json"]
    (machine.home / ".codeium/windsurf").mkdir(parents=True)
    (machine.home / ".codeium/mcp_config.json").write_text("{}")
    assert places(machine, "windsurf") == [
        ".codeium/windsurf/mcp_config.json",
        ".config/devin/mcp_config.json",
        ".codeium/windsurf/hooks.json",
        ".config/devin/config.json",
        ".codeium/mcp_config.json",
        ".codeium/windsurf/memories/global_rules.md",
    ]


def test_older_files_are_set_up_if_they_exist(machine: Machine) -> None:
    old = {
        "cline": ".config/Cursor/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        "kilo": ".config/Code/User/globalStorage/kilocode.kilo-code/settings/mcp_settings.json",
        "antigravity": ".gemini/antigravity/mcp_config.json",
        "kimi": ".kimi/mcp.json",
        "opencode": ".config/opencode/opencode.jsonc",
        "droid": ".factory/hooks.json",
    }
    for name, path in old.items():
        file = machine.home / path
        assert path not in places(machine, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}")
        assert path in places(machine, name)


def test_claude_desktop_from_the_microsoft_store_is_set_up(machine: Machine) -> None:
    machine.system = "windows"
    inside = "Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude"
    (machine.home / "AppData/Local" / inside).mkdir(parents=True)
    assert places(machine, "claude-desktop") == [f"AppData/Local/{inside}/claude_desktop_config.json"]


@pytest.mark.parametrize("name", NAMES)
def test_an_agent_is_detected_by_its_program_or_its_files(machine: Machine, name: str, tmp_path: Path) -> None:
    from anamnesis.onboard.place import Place

    def is_found() -> bool:
        return machine.agent(name).is_installed(Place("linux", machine.home, machine.variables))

    assert not is_found()
    for program in machine.agent(name).programs[:1]:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / program).write_text("#!/bin/sh\n")
        (tmp_path / "bin" / program).chmod(0o755)
        machine.variables = {"PATH": str(tmp_path / "bin")}
        assert is_found()
        machine.variables = {}
    machine.agent(name).signs[0].mkdir(parents=True)
    assert is_found()


def test_setting_up_one_agent_does_not_make_another_look_installed(machine: Machine) -> None:
    from anamnesis.onboard.place import Place

    place = Place("linux", machine.home, {})
    machine.init("vscode")
    assert not machine.agent("copilot").is_installed(place)
    machine.init("antigravity")
    assert not machine.agent("gemini").is_installed(place)
