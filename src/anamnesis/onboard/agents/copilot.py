"""GitHub Copilot in VS Code and its forks, and as a CLI. Both read one folder of hooks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from anamnesis.config import HOME_VARIABLE
from anamnesis.onboard.agent import Agent
from anamnesis.onboard.edits import SettingsEdit
from anamnesis.onboard.hooks import COMPACT, END, PROMPT, START, HookEvent
from anamnesis.onboard.pieces import Item, RequiredValue, Server
from anamnesis.onboard.place import Place
from anamnesis.onboard.program import Program

_EVENTS = {"sessionStart": START, "userPromptSubmitted": PROMPT, "preCompact": COMPACT, "sessionEnd": END}


def copilot(place: Place, program: Program) -> Agent:
    folder = place.named("COPILOT_HOME", ".copilot")
    # It passes only PATH of the environment, not even HOME.
    store = program.store or str(place.home / ".anamnesis")
    server = {**program.server(type="local", tools=["*"]), "env": {HOME_VARIABLE: store}}
    return Agent(
        name="copilot",
        title="Copilot CLI",
        programs=("copilot",),
        signs=(folder / "config.json", folder / "session-state"),  # VS Code uses the folder as well
        edits=(
            SettingsEdit(folder / "mcp-config.json", "json", (Server(("mcpServers", "anamnesis"), server),)),
            _hooks(folder, program),
        ),
    )


def vscode(place: Place, program: Program) -> Agent:
    users = place.vscode()
    folders = [folder for user in users for folder in (user, *sorted((user / "profiles").glob("*/")))]
    server = Server(("servers", "anamnesis"), program.server(type="stdio"))
    return Agent(
        name="vscode",
        title="VS Code",
        programs=("code", "code-insiders", "codium"),
        signs=tuple(users),
        edits=(
            *(SettingsEdit(folder / "mcp.json", "jsonc", (server,)) for folder in folders),
            _hooks(place.named("COPILOT_HOME", ".copilot"), program),
        ),
        ignored=("recall", "capture"),
        remark="VS Code asks once, at the first use, whether to trust the server.",
    )


def _hooks(folder: Path, program: Program) -> SettingsEdit:
    items = [Item(("hooks", event), on.verb, _handler(on, program)) for event, on in _EVENTS.items()]
    return SettingsEdit(folder / "hooks/anamnesis.json", "json", (RequiredValue(("version",), 1), *items), own=True)


def _handler(on: HookEvent, program: Program) -> dict[str, Any]:
    options = (*on.options, "--host=copilot")
    shell = {"powershell": program.powershell} if program.windows else {"bash": program.line}
    lines = {key: write(on.verb, *options) for key, write in shell.items()}
    return {"type": "command", **lines, "timeoutSec": on.seconds}
