"""Cursor, the IDE and the CLI. A hook at a prompt cannot add context."""

from __future__ import annotations

from anamnesis.onboard.agent import Agent
from anamnesis.onboard.edits import SettingsEdit
from anamnesis.onboard.hooks import COMPACT, END, START
from anamnesis.onboard.pieces import Item, RequiredValue, Server
from anamnesis.onboard.place import Place
from anamnesis.onboard.program import Program

_EVENTS = {"sessionStart": START, "preCompact": COMPACT, "sessionEnd": END}


def cursor(place: Place, program: Program) -> Agent:
    folder = place.home / ".cursor"
    hooks = [
        Item(("hooks", event), on.verb, {"command": on.line(program, "cursor"), "timeout": on.seconds})
        for event, on in _EVENTS.items()
    ]
    return Agent(
        name="cursor",
        title="Cursor",
        programs=("cursor", "cursor-agent"),
        signs=(folder,),
        edits=(
            SettingsEdit(folder / "mcp.json", "json", (Server(("mcpServers", "anamnesis"), program.server()),)),
            SettingsEdit(folder / "hooks.json", "json", (RequiredValue(("version",), 1), *hooks)),
        ),
        remark="Enable the server once: in the settings of the IDE, or with cursor-agent mcp enable anamnesis.",
    )
