"""This machine: where agents have their settings, and which command starts us."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from anamnesis.config import DEFAULT_HOME, Settings
from anamnesis.onboard.agent import Agent
from anamnesis.onboard.agents import all_agents
from anamnesis.onboard.engram_installation import find_installation
from anamnesis.onboard.place import Place
from anamnesis.onboard.program import Program

# How long the start of a command may take on a busy machine.
_SECONDS = 30.0
_SYSTEMS = {"darwin": "macos", "win32": "windows"}


def place(settings: Settings) -> Place:
    """Where programs have their settings on this machine."""
    return Place(_SYSTEMS.get(sys.platform, "linux"), settings.user_home, dict(os.environ))


def program(settings: Settings) -> Program:
    """The command for agents, with its full path: they have another PATH, or none.

    A program in a virtual environment moves with it, so agents start a launcher instead.
    """
    home = settings.home
    store = "" if home == settings.user_home / DEFAULT_HOME else str(home)
    lasting = _lasting()
    if lasting or sys.platform == "win32":  # Windows does not start shell scripts
        return Program(lasting or _words(), store, sys.platform == "win32")
    return Program((str(home / "bin/anamnesis"),), store, runs=_words())


def agents(settings: Settings, started: Program | None = None) -> list[Agent]:
    """Every supported agent, installed or not; they start `started`, else the result of `program`."""
    return all_agents(place(settings), started or program(settings))


def agents_and_engram(settings: Settings, database: Path | None, started: Program | None = None) -> list[Agent]:
    """Every supported agent, and Engram if it is installed; `database` is its engram.db, if it has one."""
    start = started or program(settings)
    declared = agents(settings, start)
    found = find_installation(place(settings), start, declared, database)
    return [*declared, *([found.agent] if found else [])]


def can_run(words: tuple[str, ...]) -> bool:
    """Whether a command starts us. It is run: a script may exist while its interpreter is gone."""
    try:
        done = subprocess.run([*words, "--version"], capture_output=True, stdin=subprocess.DEVNULL, timeout=_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and done.stdout.startswith(b"anamnesis")


def runs_from_cache() -> bool:
    """Whether the command runs from a cache that may be cleared at any time."""
    return "archive-v0" in Path(_words()[0]).resolve().parts


def _lasting() -> tuple[str, ...]:
    """The running command by a path that survives an upgrade of its virtual environment; () if there is none.

    `uv tool install` and `pipx install` create a link, and keep it when they upgrade.
    """
    own = _words()
    if not _is_in_environment(own[0]):
        return own
    folders = (Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder)
    for path in (folder / "anamnesis" for folder in folders if folder.is_absolute()):
        if os.path.realpath(path) == os.path.realpath(own[0]) and not _is_in_environment(str(path)):
            return (str(path),)
    return ()


def _is_in_environment(program: str) -> bool:
    return (Path(program).parent.parent / "pyvenv.cfg").exists()


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
