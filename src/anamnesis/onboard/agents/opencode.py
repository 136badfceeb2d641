"""OpenCode and its fork Kilo Code: servers of the same shape, hooks as a JavaScript plugin.

OpenCode 2 accepts only a default export with `setup`; OpenCode 1 uses only `server` of it. Kilo Code has the loader of
an older OpenCode 1, which calls every export.
"""

from __future__ import annotations

from pathlib import Path

from anamnesis.onboard.agent import Agent
from anamnesis.onboard.edits import OwnFile, SettingsEdit
from anamnesis.onboard.pieces import Server
from anamnesis.onboard.place import Place, present
from anamnesis.onboard.plugin import plugin
from anamnesis.onboard.program import Program

_EXPORT = '\nexport default { id: "anamnesis", server: Anamnesis, setup }\n'


def opencode(place: Place, program: Program) -> Agent:
    folder = place.named("OPENCODE_CONFIG_DIR", place.config("opencode"))
    commented = folder / "opencode.jsonc"
    usual = commented if commented.exists() else folder / "opencode.json"
    settings = place.named("OPENCODE_CONFIG", usual)
    return Agent(
        name="opencode",
        title="OpenCode",
        programs=("opencode",),
        signs=(folder,),
        edits=(_server(settings, program), _plugin(folder / "plugins", program, "opencode", _EXPORT)),
    )


def kilo(place: Place, program: Program) -> Agent:
    folder = place.named("KILO_CONFIG_DIR", place.config("kilo"))
    (settings, *_) = present(folder / name for name in ("kilo.jsonc", "kilo.json"))
    before_the_fork = [path / "settings/mcp_settings.json" for path in place.extension("kilocode.kilo-code")]
    old = [
        SettingsEdit(path, "json", (Server(("mcpServers", "anamnesis"), program.server()),))
        for path in before_the_fork
        if path.exists()
    ]
    return Agent(
        name="kilo",
        title="Kilo Code",
        programs=("kilo", "kilocode"),
        signs=(folder, *place.extensions("kilocode.kilo-code")),
        edits=(_server(settings, program), _plugin(folder / "plugin", program, "kilo"), *old),
    )


def _server(file: Path, program: Program) -> SettingsEdit:
    value = {"type": "local", "command": program.call("serve"), **program.environment("environment"), "enabled": True}
    return SettingsEdit(file, "jsonc", (Server(("mcp", "anamnesis"), value),))


def _plugin(folder: Path, program: Program, host: str, export: str = "") -> OwnFile:
    calls = {
        "inject": program.call("inject", "--sync"),
        "recall": program.call("recall"),
        "turn": program.call("capture", "--no-sync", f"--host={host}"),
        "end": program.call("capture", f"--host={host}"),
    }
    return plugin(folder, "opencode", calls, export)
