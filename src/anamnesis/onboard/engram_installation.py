"""An existing Engram installation: its program, its callers, and the edits that make the callers start us.

Changes nothing. Without an engram.db or a program of that name, nothing is read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anamnesis.errors import AnamnesisError
from anamnesis.onboard.agent import Agent
from anamnesis.onboard.edits import Edit, Launcher, SettingsEdit, is_launcher
from anamnesis.onboard.formats import engine
from anamnesis.onboard.pieces import Keys, RedirectedServer, Server, at
from anamnesis.onboard.place import Place
from anamnesis.onboard.program import Program, engram_options, engram_program

NAME = "engram"
_Entry = tuple[Path, str, Keys, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class EngramInstallation:
    """An Engram installation: its program (None if the first on the PATH is ours) and the agents with its plugin."""

    agent: Agent
    program: Path | None
    plugins: tuple[str, ...]
    # What still calls Engram's own program, and how the user can change that.
    remarks: tuple[str, ...] = ()


def find_installation(
    place: Place, program: Program, agents: Iterable[Agent], database: Path | None
) -> EngramInstallation | None:
    """The installation, with the edits that redirect its callers to us; None if there is none."""
    called = _on_path(place)
    if database is None and not called:
        return None
    theirs = next((path for path in called if not _is_ours(path)), None)
    is_first = bool(called) and called[0] == theirs
    plugins = tuple(_plugins(place))
    launcher = _launcher_file(place, called) if called or plugins else None
    edits: list[Edit] = [
        SettingsEdit(file, format, (piece,)) for file, format, piece in _redirected(_entries(place, program, agents))
    ]
    if launcher:
        edits.append(Launcher(launcher, program.words, program.store, is_engram=True))
    is_missed = not launcher and (is_first or (plugins and not called))
    agent = Agent(NAME, "Engram", (), (), tuple(edits))
    remarks = (*((_advice(place, theirs),) if is_missed else ()), *_fixed(place))
    return EngramInstallation(agent, theirs if is_first else None, plugins, remarks)


def _on_path(place: Place) -> list[Path]:
    """Every program called `engram` on the PATH, in the order of the PATH."""
    name = f"{NAME}.exe" if place.system == "windows" else NAME
    paths = [folder / name for folder in _folders(place)]
    return [path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)]


def _folders(place: Place) -> list[Path]:
    folders = (Path(folder) for folder in place.variables.get("PATH", "").split(os.pathsep) if folder)
    return list(dict.fromkeys(folder for folder in folders if folder.is_absolute()))


def _is_ours(path: Path) -> bool:
    """Whether a program is our launcher or a user's link to us."""
    return _is_written_by_us(path) or Path(os.path.realpath(path)).stem == "anamnesis"


def _is_written_by_us(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return is_launcher(file.read(200).decode("utf-8", "replace"))
    except OSError:
        return False


def _launcher_file(place: Place, called: Sequence[Path]) -> Path | None:
    """Our launcher's path, existing or possible without hiding another program; None if there is none."""
    if called and _is_ours(called[0]):
        return called[0] if _is_written_by_us(called[0]) else None
    if place.system == "windows":  # it does not start shell scripts
        return None
    own = [place.home / ".local/bin", place.home / "bin"]
    for folder in _folders(place):
        if called and folder == called[0].parent:
            return None
        is_usable = folder in own and os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)
        if is_usable and not os.path.lexists(folder / NAME):
            return folder / NAME
    return None


def _advice(place: Place, theirs: Path | None) -> str:
    if place.system == "windows":
        return f"Plugins still call {theirs or 'engram'}: on Windows, only the agents' own entries are changed."
    what = f"still call {theirs}" if theirs else "find no `engram` to call"
    where = "first on the PATH" if theirs else "on the PATH"
    return (
        f"Plugins for Engram {what}: put a folder of yours without an `engram` in it, such as ~/.local/bin or ~/bin,"
        f" {where} and run `anamnesis init` again."
    )


def _redirected(entries: Iterable[_Entry]) -> Iterator[tuple[Path, str, RedirectedServer]]:
    """The entries that start Engram's server, or us in its place."""
    for file, format, path, server in entries:
        found = _entry_at(file, format, path)
        if found is not None and engram_options(found) is not None:
            yield file, format, RedirectedServer(path, server, engram_program(found))


def _entry_at(file: Path, format: str, path: Keys) -> Mapping[str, Any] | None:
    try:
        content = file.read_bytes()
        found = at(engine(format).read(content.decode()), path) if NAME.encode() in content else None
    except (OSError, UnicodeDecodeError, AnamnesisError):  # reported when this agent is set up
        return None
    return found if isinstance(found, Mapping) else None


def _entries(place: Place, program: Program, agents: Iterable[Agent]) -> Iterator[_Entry]:
    """Where agents may have a server called `engram`: beside ours, and in files that only Engram writes."""
    seen = set()
    for edit in (edit for agent in agents for edit in agent.edits if isinstance(edit, SettingsEdit)):
        for piece in edit.pieces:
            if isinstance(piece, Server):
                seen.add(edit.file)
                yield edit.file, edit.format, (*piece.path[:-1], NAME), piece.value
    kilo = {"type": "local", "command": program.call("serve"), **program.environment("environment")}
    usual = program.server()
    claude = place.named("CLAUDE_CONFIG_DIR", "") / ".claude.json"
    others: tuple[_Entry, ...] = (
        (claude, "json", ("mcpServers", NAME), usual),  # our plugin adds no server entry beside it
        (place.config("kilo") / "opencode.json", "jsonc", ("mcp", NAME), kilo),
        (place.home / ".commandcode/mcp.json", "json", ("mcpServers", NAME), usual),
        (place.named("PI_CODING_AGENT_DIR", ".pi/agent") / "mcp.json", "json", ("mcpServers", NAME), usual),
    )
    yield from (entry for entry in others if entry[0] not in seen)


def _plugins(place: Place) -> Iterator[str]:
    """The agents with Engram's plugin, whose scripts call `engram` by name."""
    claude = place.named("CLAUDE_CONFIG_DIR", ".claude")
    signs = {
        "Claude Code": (claude / "settings.json", rb'"engram@[^"]*"\s*:\s*true'),
        "Codex CLI": (place.named("CODEX_HOME", ".codex") / "config.toml", rb'plugins\s*\.\s*"engram@[^"]*"'),
        "OpenCode": (_opencode_plugin(place), rb"ENGRAM_BIN"),
        "Pi": (place.named("PI_CODING_AGENT_DIR", ".pi/agent") / "settings.json", rb'"npm:gentle-engram[@"]'),
    }
    yield from (title for title, (file, sign) in signs.items() if _says(file, sign))


def _fixed(place: Place) -> Iterator[str]:
    """Newer plugins for OpenCode contain the full path of Engram's program and do not search the PATH."""
    file = _opencode_plugin(place)
    if _says(file, rb'ENGRAM_BIN\)?\s*\?\?\s*"[^"/\\]*+[/\\][^"]*"'):
        yield f"{file} contains the full path of Engram's own program and still starts it, on the same memory."


def _opencode_plugin(place: Place) -> Path:
    return place.named("OPENCODE_CONFIG_DIR", place.config("opencode")) / "plugins/engram.ts"


def _says(file: Path, sign: bytes) -> bool:
    try:
        return bool(re.search(sign, file.read_bytes()))
    except OSError:
        return False
