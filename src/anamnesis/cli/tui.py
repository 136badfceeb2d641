"""`anamnesis tui`: opens the terminal application. `entry` usually runs it without importing this module."""

from __future__ import annotations

import click

from anamnesis.cli.context import settings
from anamnesis.errors import InvalidArgument


@click.command()
def command() -> None:
    """Search, read, edit and review the memory in a full-screen application; `anamnesis` alone does the same.

    Search as you type, with a preview and facets; a note with its history and related notes; timeline, sessions,
    review and conflicts side by side, the context that a session gets, machines and agents, dreams, settings. `?` shows
    the keys. Notes are edited in $VISUAL or $EDITOR.
    """
    from anamnesis import tui

    if reason := tui.refusal():
        raise InvalidArgument(reason)
    tui.run(settings())
