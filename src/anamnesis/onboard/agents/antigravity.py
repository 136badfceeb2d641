"""Antigravity, the IDE and the CLI `agy`: hooks under the name of their owner, run before every model call."""

from __future__ import annotations

from anamnesis.onboard.agent import Agent
from anamnesis.onboard.edits import SettingsEdit
from anamnesis.onboard.hooks import START, TURN
from anamnesis.onboard.pieces import Item, Server
from anamnesis.onboard.place import Place
from anamnesis.onboard.program import Program


def antigravity(place: Place, program: Program) -> Agent:
    folder = place.home / ".gemini"
    files = [folder / "config/mcp_config.json"]
    files += [path for path in (folder / "antigravity/mcp_config.json",) if path.exists()]
    server = Server(("mcpServers", "anamnesis"), program.server())
    events = {"PreInvocation": START, "Stop": TURN}
    hooks = [
        Item(
            ("anamnesis", event),
            on.verb,
            {"type": "command", "command": on.line(program, "antigravity"), "timeout": on.seconds},
        )
        for event, on in events.items()
    ]
    return Agent(
        name="antigravity",
        title="Antigravity",
        programs=("agy", "antigravity"),
        signs=(folder / "antigravity", folder / "antigravity-cli", folder / "config"),
        edits=(
            *(SettingsEdit(file, "json", (server,)) for file in files),
            SettingsEdit(folder / "config/hooks.json", "json", tuple(hooks)),
        ),
    )
