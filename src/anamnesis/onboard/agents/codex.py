"""Codex CLI, its app and its IDE extension. It ignores hooks silently until the user trusts them."""

from __future__ import annotations

from dataclasses import replace

from anamnesis.onboard.agent import Agent
from anamnesis.onboard.edits import SettingsEdit
from anamnesis.onboard.hooks import COMPACT, END, PROMPT, START, group
from anamnesis.onboard.pieces import Server
from anamnesis.onboard.place import Place
from anamnesis.onboard.program import Program


def codex(place: Place, program: Program) -> Agent:
    folder = place.named("CODEX_HOME", ".codex")
    hooks = []
    for on in (START, PROMPT, COMPACT, replace(END, seconds=3)):
        line = on.line(program, "codex")
        windows = {"commandWindows": line} if program.windows else {}
        hooks.append(group(on, {"type": "command", "command": line, **windows, "timeout": on.seconds}))
    return Agent(
        name="codex",
        title="Codex CLI",
        programs=("codex",),
        signs=(folder,),
        edits=(
            SettingsEdit(folder / "config.toml", "toml", (Server(("mcp_servers", "anamnesis"), program.server()),)),
            SettingsEdit(folder / "hooks.json", "json", tuple(hooks)),
        ),
        remark="Codex runs no hook before you trust it: start codex, type /hooks and trust those of anamnesis.",
    )
