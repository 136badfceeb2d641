"""Continue: a list of servers in YAML. It defines hooks but runs none."""

from __future__ import annotations

from anamnesis.onboard.agent import Agent, own_file
from anamnesis.onboard.edits import SettingsEdit
from anamnesis.onboard.pieces import Item, RequiredValue
from anamnesis.onboard.place import Place
from anamnesis.onboard.program import Program

_FRAME = (
    RequiredValue(("name",), "Local Config"),
    RequiredValue(("version",), "1.0.0"),
    RequiredValue(("schema",), "v1"),
)


def continue_(place: Place, program: Program) -> Agent:
    folder = place.named("CONTINUE_GLOBAL_DIR", ".continue")
    server = Item(("mcpServers",), "serve", program.server(name="anamnesis"))
    return Agent(
        name="continue",
        title="Continue",
        programs=("cn",),
        signs=(folder,),
        edits=(SettingsEdit(folder / "config.yaml", "yaml", (*_FRAME, server)),),
        instructions=own_file(folder / "rules/anamnesis.md"),
    )
