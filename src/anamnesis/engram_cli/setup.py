"""The verb `setup`: what Engram does with plugins of its own, `anamnesis init` does for every agent."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

from anamnesis.config import Settings
from anamnesis.engram_cli.console import Stop

# Engram's names for agents that are called otherwise here.
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
    # A process of its own: that command line is above this one, and asks and draws as this one does not.
    done = subprocess.run([sys.executable, "-m", "anamnesis", "init", *options], check=False)
    if done.returncode:
        raise Stop("", done.returncode)
