"""The verb `setup`: runs `anamnesis init`. Engram's own verb installs its plugins."""

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
    names = [word for word in arguments[:1] if not word.startswith("-")]
    options = [f"--agent={_NAMES.get(name, name)}" for name in names]
    # In another process: `anamnesis init` is in a higher layer, which must not be imported here.
    done = subprocess.run([sys.executable, "-m", "anamnesis", "init", *options], check=False)
    if done.returncode:
        raise Stop("", done.returncode)
