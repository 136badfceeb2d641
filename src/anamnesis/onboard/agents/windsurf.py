"""Windsurf, now Devin Desktop, its JetBrains plugin and the Devin CLI: each has its own file."""

from __future__ import annotations

from dataclasses import replace

from anamnesis.onboard.agent import Agent, line_in
from anamnesis.onboard.edits import SettingsEdit
from anamnesis.onboard.hooks import PROMPT, START, TURN, grouped
from anamnesis.onboard.pieces import Item, Server
from anamnesis.onboard.place import Place, present
from anamnesis.onboard.program import Program


def windsurf(place: Place, program: Program) -> Agent:
    cascade, jetbrains = place.home / ".codeium/windsurf", place.home / ".codeium"
    devin = place.app_data("devin") if place.system == "windows" else place.config("devin")
    server = Server(("mcpServers", "anamnesis"), program.server())
    # In Devin, a matcher always means tools, even at the start of a session.
    hooks = grouped(program, "devin", replace(START, matcher=""), PROMPT)
    has = present([cascade, devin])
    edits = [SettingsEdit(folder / "mcp_config.json", "json", (server,)) for folder in has]
    if cascade in has:
        turn = {"command": TURN.line(program, "windsurf"), "show_output": False}
        ended = Item(("hooks", "post_cascade_response_with_transcript"), TURN.verb, turn)
        edits.append(SettingsEdit(cascade / "hooks.json", "json", (ended,)))
    if devin in has:
        edits.append(SettingsEdit(devin / "config.json", "jsonc", (server, *hooks)))
    if (jetbrains / "mcp_config.json").exists():
        edits.append(SettingsEdit(jetbrains / "mcp_config.json", "json", (server,)))
    return Agent(
        name="windsurf",
        title="Windsurf and Devin",
        programs=("windsurf", "devin"),
        signs=(cascade, devin),
        edits=tuple(edits),
        instructions=line_in(cascade / "memories/global_rules.md") if cascade in has else None,
    )
