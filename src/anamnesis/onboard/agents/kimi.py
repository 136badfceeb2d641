"""Kimi Code and Kimi CLI: they use a hook's output only at a prompt, and headless runs end without a hook."""

from __future__ import annotations

from anamnesis.onboard.agent import Agent
from anamnesis.onboard.edits import SettingsEdit
from anamnesis.onboard.hooks import COMPACT, END, PROMPT, TURN
from anamnesis.onboard.pieces import Item, Server
from anamnesis.onboard.place import Place, present
from anamnesis.onboard.program import Program


def kimi(place: Place, program: Program) -> Agent:
    folders = [place.named("KIMI_CODE_HOME", ".kimi-code"), place.named("KIMI_SHARE_DIR", ".kimi")]
    server = Server(("mcpServers", "anamnesis"), program.server())
    hooks = tuple(
        Item(("hooks",), on.verb, {"event": on.event, "command": on.line(program, "kimi"), "timeout": on.seconds})
        for on in (PROMPT, COMPACT, TURN, END)
    )
    edits = [
        edit
        for folder in present(folders)
        for edit in (
            SettingsEdit(folder / "mcp.json", "json", (server,)),
            SettingsEdit(folder / "config.toml", "toml", hooks),
        )
    ]
    return Agent("kimi", "Kimi CLI", ("kimi",), tuple(folders), tuple(edits))
