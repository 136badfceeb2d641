"""The plugin for Claude Code contains the same entries as `anamnesis init` writes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

from anamnesis import __version__
from anamnesis.onboard.agents.claude import hooks
from anamnesis.onboard.program import Program

ROOT = Path(__file__).parent.parent.parent
PLUGIN = ROOT / "plugins/claude-code"
PROGRAM = Program(("anamnesis",))


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def test_the_hooks_of_the_plugin_are_those_of_init() -> None:
    events: dict[str, list[Any]] = {}
    for item in hooks(PROGRAM):
        events.setdefault(str(item.path[-1]), []).append(item.value)
    written = read(PLUGIN / "hooks/hooks.json")
    assert written["hooks"] == events
    assert written.keys() == {"description", "hooks"}


def test_the_server_of_the_plugin_is_that_of_init() -> None:
    assert read(PLUGIN / ".mcp.json") == {"mcpServers": {"anamnesis": PROGRAM.server(type="stdio")}}


def test_the_manifest_has_our_version_and_names_no_file_that_is_loaded_by_default() -> None:
    manifest = read(PLUGIN / ".claude-plugin/plugin.json")
    assert manifest["version"] == __version__
    assert manifest["name"] == "anamnesis"
    assert not {"hooks", "mcpServers", "skills"} & manifest.keys()


def test_the_marketplace_points_to_the_plugin() -> None:
    market = read(ROOT / ".claude-plugin/marketplace.json")
    (plugin,) = market["plugins"]
    assert (ROOT / plugin["source"]).resolve() == PLUGIN
    assert plugin["name"] == "anamnesis"
    assert market["name"]
    assert market["owner"]["name"]


def test_the_skill_can_be_listed() -> None:
    text = (PLUGIN / "skills/memory/SKILL.md").read_text("utf-8")
    match = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    assert match
    front = yaml.safe_load(match.group(1))
    assert front["name"] == "memory"
    assert 50 < len(front["description"]) < 1536
