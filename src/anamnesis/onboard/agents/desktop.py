"""Claude Desktop: servers only."""

from __future__ import annotations

from anamnesis.onboard.agent import Agent
from anamnesis.onboard.edits import SettingsEdit
from anamnesis.onboard.pieces import Server
from anamnesis.onboard.place import Place, present
from anamnesis.onboard.program import Program


def desktop(place: Place, program: Program) -> Agent:
    packaged = sorted((place.local_data() / "Packages").glob("Claude_*/LocalCache/Roaming/Claude"))
    folders = present([place.app_data("Claude"), *packaged])
    server = Server(("mcpServers", "anamnesis"), program.server())
    return Agent(
        name="claude-desktop",
        title="Claude Desktop",
        programs=("claude-desktop",),
        signs=tuple(folders),
        edits=tuple(SettingsEdit(folder / "claude_desktop_config.json", "json", (server,)) for folder in folders),
        remark="Quit Claude Desktop completely and start it again.",
    )
