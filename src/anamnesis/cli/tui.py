"""`anamnesis tui`: the memory on a terminal. The program runs it without importing this module, if it can."""

from __future__ import annotations

import click

from anamnesis.cli.context import settings
from anamnesis.errors import InvalidArgument


@click.command()
def command() -> None:
    """Search, read, edit and look after the memory on the whole terminal; `anamnesis` alone does the same.

    Search as you type, with a preview and facets; a note with its history and what is around it; timeline, sessions,
    review and conflicts side by side, what a session would be told, machines and agents, dreams, settings. `?` shows
    the keys. Notes are edited in $VISUAL or $EDITOR.
    """
    from anamnesis import tui

    if reason := tui.refusal():
        raise InvalidArgument(reason)
    tui.run(settings())
