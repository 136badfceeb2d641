"""Amp: servers under a key with a dot in it. Its plugin interface still changes too often to use."""

from __future__ import annotations

from anamnesis.onboard.agent import Agent, line_in
from anamnesis.onboard.edits import SettingsEdit
from anamnesis.onboard.pieces import Server
from anamnesis.onboard.place import Place
from anamnesis.onboard.program import Program


def amp(place: Place, program: Program) -> Agent:
    folder = place.config("amp")
    return Agent(
        name="amp",
        title="Amp",
        programs=("amp",),
        signs=(folder,),
        edits=(
            SettingsEdit(
                folder / "settings.json", "jsonc", (Server(("amp.mcpServers", "anamnesis"), program.server()),)
            ),
        ),
        instructions=line_in(folder / "AGENTS.md"),
    )
