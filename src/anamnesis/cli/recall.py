"""`anamnesis recall`: declares the command, which `anamnesis.hooks` runs."""

from __future__ import annotations

import click

from anamnesis.cli.options import as_arguments, hook_options
from anamnesis.hooks import run


@click.command()
@click.option("-p", "--project", help="The project, if it is not that of the agent's folder.")
@hook_options
def command(**given: str | None) -> None:
    """Print up to three notes that a prompt is clearly about; a hook of agents (UserPromptSubmit).

    As with inject, a note that is not yours is told before `anamnesis review` accepts it only in a project: an imported
    one, or a teammate's in a project of its space, with its origin. Yours come first.

    Reads the agent's JSON from stdin. Never fails: the exit code is always 0, and errors are in the log.
    """
    run("recall", as_arguments(given))
