"""Cline, with hooks as a JavaScript plugin, and Roo Code, an older fork of it without hooks."""

from __future__ import annotations

from pathlib import Path

from anamnesis.onboard.agent import Agent, own_file
from anamnesis.onboard.edits import OwnFile, SettingsEdit
from anamnesis.onboard.pieces import Server
from anamnesis.onboard.place import Place
from anamnesis.onboard.plugin import plugin
from anamnesis.onboard.program import Program


def cline(place: Place, program: Program) -> Agent:
    name = "saoudrizwan.claude-dev"
    folder = place.named("CLINE_DIR", ".cline")
    data = place.named("CLINE_DATA_DIR", folder / "data")
    file = place.named("CLINE_MCP_SETTINGS_PATH", data / "settings/cline_mcp_settings.json")
    older = [path / "settings/cline_mcp_settings.json" for path in place.extension(name)]
    server = Server(("mcpServers", "anamnesis"), program.server(disabled=False))
    files = [file, *(path for path in older if path.exists())]
    return Agent(
        name="cline",
        title="Cline",
        programs=("cline",),
        signs=(folder, *place.extensions(name)),
        edits=(*(SettingsEdit(path, "json", (server,)) for path in files), _plugin(folder / "plugins", program)),
    )


def _plugin(folder: Path, program: Program) -> OwnFile:
    calls = {
        "recall": program.call("recall", "--host=cline"),
        "capture": program.call("capture", "--no-sync", "--host=cline"),
    }
    return plugin(folder, "cline", calls)


def roo(place: Place, program: Program) -> Agent:
    name = "rooveterinaryinc.roo-cline"
    folder = place.home / ".roo"
    storages = place.extension(name)
    server = Server(("mcpServers", "anamnesis"), program.server(disabled=False))
    return Agent(
        name="roo",
        title="Roo Code",
        programs=(),
        signs=(folder, *storages, *place.extensions(name)),
        edits=tuple(SettingsEdit(storage / "settings/mcp_settings.json", "json", (server,)) for storage in storages),
        instructions=own_file(folder / "rules/anamnesis.md"),
    )
