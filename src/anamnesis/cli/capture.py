"""`anamnesis capture`: declares the command, which `anamnesis.hooks` runs."""

from __future__ import annotations

import click

from anamnesis.cli.options import hook_options, words_of
from anamnesis.hooks import run


@click.command()
@click.option("--source", type=click.Choice(["session-end", "precompact"]), help="What the session was captured at.")
@click.option("--transcript", metavar="FILE", help="The transcript, where the agent does not name it.")
@click.option("--with-model", is_flag=True, help="Let the configured model summarise, and wait for it.")
@click.option("--no-sync", is_flag=True, help="Leave it to the next sync to take the note to the other machines.")
@click.option("-p", "--project", help="The project, where it is not that of the session's folder.")
@hook_options
def command(with_model: bool, no_sync: bool, **given: str | None) -> None:
    """Keep what a session was about as one note; a hook of agents (SessionEnd, PreCompact).

    Reads the agent's JSON from stdin. One note a session, however often it runs; none for a trivial one. When a
    session has ended, a sync follows, which the agent does not wait for. Never fails: the exit code is always 0, and
    what went wrong is in the log.
    """
    flags = [name for name, is_set in (("--with-model", with_model), ("--no-sync", no_sync)) if is_set]
    run("capture", [*flags, *words_of(given)])
