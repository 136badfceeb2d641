"""Grok: servers in TOML, hooks in a file of our own. It discards what they print."""

from __future__ import annotations

from anamnesis.onboard.agent import Agent, own_file
from anamnesis.onboard.edits import SettingsEdit
from anamnesis.onboard.hooks import COMPACT, END, grouped
from anamnesis.onboard.pieces import Server
from anamnesis.onboard.place import Place
from anamnesis.onboard.program import Program


def grok(place: Place, program: Program) -> Agent:
    folder = place.named("GROK_HOME", ".grok")
    return Agent(
        name="grok",
        title="Grok",
        programs=("grok",),
        signs=(folder,),
        edits=(
            SettingsEdit(folder / "config.toml", "toml", (Server(("mcp_servers", "anamnesis"), program.server()),)),
            SettingsEdit(folder / "hooks/anamnesis.json", "json", grouped(program, "grok", COMPACT, END), own=True),
        ),
        instructions=own_file(folder / "rules/anamnesis.md"),
    )
