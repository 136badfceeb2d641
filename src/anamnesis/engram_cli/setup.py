"""The verb `setup`: runs `anamnesis init`, which sets up any agent, where Engram installs its own plugins."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

from anamnesis.config import Settings
from anamnesis.engram_cli.console import Stop

# Engram's names for agents that have another name here.
_NAMES = {
    "antigravity-cli": "antigravity",
    "claude-code": "claude",
    "gemini-cli": "gemini",
    "kilocode": "kilo",
    "vscode-copilot": "vscode",
}


def run_setup(arguments: list[str], _: Settings) -> None:
    if importlib.util.find_spec("anamnesis.onboard") is None:
        raise Stop("engram: this version sets up no agents. Add the command `engram mcp` to yours as an MCP server.")
    chosen = [word for word in arguments[:1] if not word.startswith("-")]
    options = [f"--agent={_NAMES.get(name, name)}" for name in chosen]
    # In another process: the layer of `anamnesis init` is above this one, so it cannot be imported.
    done = subprocess.run([sys.executable, "-m", "anamnesis", "init", *options], check=False)
    if done.returncode:
        raise Stop("", done.returncode)
