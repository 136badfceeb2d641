"""`anamnesis inject`: declares the command, which `anamnesis.hooks` runs."""

from __future__ import annotations

import click

from anamnesis.cli.options import hook_options, words_of
from anamnesis.hooks import run


@click.command()
@click.option("--budget", metavar="CHARACTERS", help="How much to print at the most.")
@click.option("--sync", is_flag=True, help="Let a sync follow, which the agent does not wait for.")
@click.option("-p", "--project", help="The project, where it is not that of the agent's folder.")
@hook_options
def command(sync: bool, **given: str | None) -> None:
    """Print the notes for a session that starts; a hook of agents (SessionStart).

    Reads the agent's JSON from stdin. Never fails: the exit code is always 0, and what went wrong is in the log.
    """
    run("inject", [*(["--sync"] if sync else []), *words_of(given)])
