"""Goose: extensions in YAML. It discards the output of hooks."""

from __future__ import annotations

from anamnesis.onboard.agent import Agent, line_in
from anamnesis.onboard.edits import SettingsEdit
from anamnesis.onboard.pieces import Server
from anamnesis.onboard.place import Place
from anamnesis.onboard.program import Program


def goose(place: Place, program: Program) -> Agent:
    usual = place.app_data("Block/goose/config") if place.system == "windows" else place.config("goose")
    is_moved = "GOOSE_PATH_ROOT" in place.variables
    folder = place.named("GOOSE_PATH_ROOT", "") / "config" if is_moved else usual
    command, *args = program.call("serve")
    value = {
        "name": "anamnesis",
        "type": "stdio",
        "description": "Long-term memory",
        "cmd": command,
        "args": args,
        "envs": {},
        **program.environment("envs"),
        "env_keys": [],
        "enabled": True,
        "timeout": 300,
        "bundled": False,
    }
    return Agent(
        name="goose",
        title="Goose",
        programs=("goose",),
        signs=(folder,),
        edits=(SettingsEdit(folder / "config.yaml", "yaml", (Server(("extensions", "anamnesis"), value),)),),
        instructions=line_in(folder / ".goosehints"),
    )
