"""`anamnesis engram`: lists Engram's own verbs. The program runs them without importing this module."""

from __future__ import annotations

import click

from anamnesis.engram_cli import VERBS, run


class Verbs(click.Group):
    """Has the description of each verb; the verb itself parses its arguments."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        description = VERBS[cmd_name]

        @click.command(
            cmd_name,
            help=description.does,
            options_metavar="",
            context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
        )
        @click.argument("arguments", nargs=-1, metavar=description.takes, type=click.UNPROCESSED)
        def verb(arguments: tuple[str, ...]) -> None:
            run([cmd_name, *arguments])

        return verb


@click.command(cls=Verbs)
def command() -> None:
    """Do what the `engram` program does, on the same engram.db.

    A link to this program that is called `engram` does the same, so that plugins for Engram find it.
    """
