"""This machine for `init` and `uninstall`: where agents have their settings, and which command starts us."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from anamnesis.cli.context import settings
from anamnesis.onboard.agent import Agent
from anamnesis.onboard.agents import all_agents
from anamnesis.onboard.place import Place
from anamnesis.onboard.program import Program

_SYSTEMS = {"darwin": "macos", "win32": "windows"}


def place() -> Place:
    """Where programs have their settings on this machine."""
    return Place(_SYSTEMS.get(sys.platform, "linux"), settings().user_home, dict(os.environ))


def program() -> Program:
    """The running command with its full path: agents have another PATH, or none."""
    home = settings().home
    is_default = home == settings().user_home / ".anamnesis"
    return Program(_words(), "" if is_default else str(home), sys.platform == "win32")


def agents() -> list[Agent]:
    """Every supported agent, installed on this machine or not."""
    return all_agents(place(), program())


def is_passing() -> bool:
    """Whether the command runs from a cache that may be cleared at any time."""
    return "archive-v0" in Path(_words()[0]).resolve().parts


def _words() -> tuple[str, ...]:
    suffix = ".exe" if sys.platform == "win32" else ""
    started = Path(sys.argv[0])
    candidates = [started.absolute()] if started.stem == "anamnesis" else []
    candidates.append(Path(sys.executable).with_name(f"anamnesis{suffix}"))
    for path in candidates:
        named = path if path.suffix or not suffix else path.with_suffix(suffix)
        if named.is_file() and os.access(named, os.X_OK):
            return (str(named),)
    return (sys.executable, "-m", "anamnesis")
