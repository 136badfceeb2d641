"""`anamnesis capture`: declares the command, which `anamnesis.hooks` runs."""

from __future__ import annotations

import click

from anamnesis.cli.options import as_arguments, hook_options
from anamnesis.hooks import run


@click.command()
@click.option("--source", type=click.Choice(["session-end", "precompact"]), help="The event that captures the session.")
@click.option("--transcript", metavar="FILE", help="The transcript, if the agent does not name it.")
@click.option("--with-model", is_flag=True, help="Let the configured model summarise, and wait for it.")
@click.option("--no-sync", is_flag=True, help="Do not sync; the next sync sends the note.")
@click.option("-p", "--project", help="The project, if it is not that of the session's folder.")
@hook_options
def command(with_model: bool, no_sync: bool, **given: str | None) -> None:
    """Summarise a session in a note; a hook of agents (SessionEnd, PreCompact).

    Reads the agent's JSON from stdin. A session has one note, however often the hook runs; a trivial session has none.
    At the end of a session, a sync runs in the background. Never fails: the exit code is always 0, and errors are in
    the log.
    """
    flags = [name for name, is_set in (("--with-model", with_model), ("--no-sync", no_sync)) if is_set]
    run("capture", [*flags, *as_arguments(given)])
