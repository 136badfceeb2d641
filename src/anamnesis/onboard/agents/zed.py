"""Zed: servers in its settings; no hooks."""

from __future__ import annotations

from anamnesis.onboard.agent import Agent, line_in
from anamnesis.onboard.edits import SettingsEdit
from anamnesis.onboard.pieces import Server
from anamnesis.onboard.place import Place
from anamnesis.onboard.program import Program


def zed(place: Place, program: Program) -> Agent:
    # ~/.config on macOS too, not Application Support.
    folder = place.app_data("Zed") if place.system == "windows" else place.config("zed")
    server = Server(("context_servers", "anamnesis"), program.server(source="custom"))
    return Agent(
        name="zed",
        title="Zed",
        programs=("zed", "zeditor"),
        signs=(folder,),
        edits=(SettingsEdit(folder / "settings.json", "jsonc", (server,)),),
        instructions=line_in(folder / "AGENTS.md"),
    )
