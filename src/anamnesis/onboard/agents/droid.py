"""Factory Droid: hooks in their own file if it exists, else in the settings."""

from __future__ import annotations

from anamnesis.onboard.agent import Agent
from anamnesis.onboard.edits import SettingsEdit
from anamnesis.onboard.hooks import COMPACT, END, PROMPT, START, grouped
from anamnesis.onboard.pieces import Server
from anamnesis.onboard.place import Place
from anamnesis.onboard.program import Program


def droid(place: Place, program: Program) -> Agent:
    folder = place.home / ".factory"
    # A new hooks.json would override the user's hooks in settings.json.
    hooks = folder / "hooks.json" if (folder / "hooks.json").exists() else folder / "settings.json"
    server = Server(("mcpServers", "anamnesis"), program.server(type="stdio", disabled=False))
    return Agent(
        name="droid",
        title="Factory Droid",
        programs=("droid",),
        signs=(folder,),
        edits=(
            SettingsEdit(folder / "mcp.json", "json", (server,)),
            SettingsEdit(hooks, "jsonc", grouped(program, "droid", START, PROMPT, COMPACT, END)),
        ),
    )
