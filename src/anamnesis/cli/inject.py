"""`anamnesis inject`: declares the command, which `anamnesis.hooks` runs."""

from __future__ import annotations

import click

from anamnesis.cli.options import as_arguments, hook_options
from anamnesis.hooks import run


@click.command()
@click.option("--budget", metavar="CHARACTERS", help="The most to print.")
@click.option("--sync", is_flag=True, help="Start a sync in the background.")
@click.option("-p", "--project", help="The project, if it is not that of the agent's folder.")
@hook_options
def command(sync: bool, **given: str | None) -> None:
    """Print the notes for a new session; a hook of agents (SessionStart).

    A note that is not yours is told before `anamnesis review` accepts it only in a project: an imported one, or a
    teammate's in a project of its space, with its origin. Yours come first, and it hides none of them.

    Reads the agent's JSON from stdin. Never fails: the exit code is always 0, and errors are in the log.
    """
    run("inject", [*(["--sync"] if sync else []), *as_arguments(given)])
