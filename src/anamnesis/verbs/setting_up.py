"""The verb `setup`: what Engram does with plugins of its own, `anamnesis init` does for every agent."""

from __future__ import annotations

import subprocess
import sys

from anamnesis.verbs.console import Stop

# Engram's names for agents that are called otherwise here.
_NAMES = {"claude-code": "claude", "gemini-cli": "gemini", "antigravity-cli": "antigravity"}


def run_setup(arguments: list[str]) -> None:
    words = [_NAMES.get(word, word) for word in arguments if not word.startswith("-")]
    # A process of its own: that command line is above this one, and asks and draws as this one does not.
    done = subprocess.run([sys.executable, "-m", "anamnesis", "init", *words], check=False)
    if done.returncode:
        raise Stop("", done.returncode)
