"""Crush: servers in JSON, where a dollar sign starts a command. Its only hook runs before tools."""

from __future__ import annotations

from dataclasses import replace

from anamnesis.onboard.agent import Agent, line_in
from anamnesis.onboard.edits import SettingsEdit
from anamnesis.onboard.pieces import Server
from anamnesis.onboard.place import Place
from anamnesis.onboard.program import Program


def crush(place: Place, program: Program) -> Agent:
    folder = place.named("CRUSH_GLOBAL_CONFIG", place.config("crush"))
    words = tuple(word.replace("$", "\\$") for word in program.words)
    quoted = replace(program, words=words, store=program.store.replace("$", "\\$"))
    server = Server(("mcp", "anamnesis"), quoted.server(type="stdio"))
    return Agent(
        name="crush",
        title="Crush",
        programs=("crush",),
        signs=(folder,),
        edits=(SettingsEdit(folder / "crush.json", "json", (server,)),),
        instructions=line_in(folder / "CRUSH.md"),
    )
