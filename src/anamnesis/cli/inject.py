"""`anamnesis inject`: described here, run by `anamnesis.hooks`."""

from __future__ import annotations

import click

from anamnesis.hooks import run


@click.command()
@click.option("--budget", metavar="CHARACTERS", help="How much to print at the most.")
@click.option("-p", "--project", help="The project, where it is not that of the agent's folder.")
def command(budget: str | None, project: str | None) -> None:
    """Print the notes for a session that starts; a hook of agents (SessionStart).

    Reads the agent's JSON from stdin. Never fails: the exit code is always 0, and what went wrong is in the log.
    """
    given = {"budget": budget, "project": project}
    run("inject", [f"--{name}={value}" for name, value in given.items() if value])
