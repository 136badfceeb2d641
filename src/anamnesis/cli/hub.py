"""`anamnesis hub`: the server of a team's memory, and its administration."""

from __future__ import annotations

import importlib

import click

from anamnesis.cli.help import add_help

# Each command is in the module `anamnesis.cli.hub_MODULE`, under its name.
_COMMANDS = {
    "init": "setup",
    "migrate": "setup",
    "doctor": "setup",
    "serve": "serve",
    "user": "user",
    "space": "space",
    "token": "token",
    "device": "token",
    "audit": "data",
    "backup": "data",
    "restore": "data",
    "new-history": "data",
    "export": "data",
    "erase": "erase",
}


class _Group(click.Group):
    """Imports a command only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*_COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"anamnesis.cli.hub_{_COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        add_help(command)
        return command


@click.group(cls=_Group)
def command() -> None:
    """Run a hub: one memory for a team, on PostgreSQL.

    These commands are for whoever administers the hub, on its server; on other machines, `anamnesis sync` exchanges
    notes with it. They need the extra [hub], and a database in --database or ANAMNESIS_HUB_DATABASE.
    """
