"""Kiro, the IDE and the CLI: our hooks are in a separate file."""

from __future__ import annotations

from anamnesis.onboard.agent import Agent
from anamnesis.onboard.edits import SettingsEdit
from anamnesis.onboard.hooks import PROMPT, START, TURN
from anamnesis.onboard.pieces import Item, RequiredValue, Server
from anamnesis.onboard.place import Place
from anamnesis.onboard.program import Program


def kiro(place: Place, program: Program) -> Agent:
    folder = place.named("KIRO_HOME", ".kiro")
    hooks = [
        Item(
            ("hooks",),
            on.verb,
            {
                "name": f"anamnesis {on.verb}",
                "trigger": on.event,
                "action": {"type": "command", "command": on.line(program, "kiro")},
                "timeout": on.seconds,
                "enabled": True,
            },
        )
        for on in (START, PROMPT, TURN)
    ]
    return Agent(
        name="kiro",
        title="Kiro",
        programs=("kiro", "kiro-cli"),
        signs=(folder,),
        edits=(
            SettingsEdit(
                folder / "settings/mcp.json", "json", (Server(("mcpServers", "anamnesis"), program.server()),)
            ),
            SettingsEdit(
                folder / "hooks/anamnesis.json", "json", (RequiredValue(("version",), "v1"), *hooks), own=True
            ),
        ),
        remark="Some versions of the IDE ignore hooks at user level; the CLI runs them.",
    )
