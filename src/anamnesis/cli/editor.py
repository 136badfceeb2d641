"""Opens a text in the user's editor."""

from __future__ import annotations

import os
import sys

import click

from anamnesis.errors import InvalidArgument


def edited(text: str) -> str | None:
    """The text as the user edited it; None if nothing was saved."""
    program = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not program and not sys.stdin.isatty():
        raise InvalidArgument("No editor is named.", "Name one in VISUAL or EDITOR.")
    try:
        return click.edit(text, extension=".md", require_save=True)
    except (ValueError, click.ClickException) as error:
        reason = error.message if isinstance(error, click.ClickException) else str(error)
        raise InvalidArgument(
            f"The editor {program or 'of this system'} cannot be used: {reason.removeprefix(f'{program}: ')}.",
            "Name another in VISUAL or EDITOR.",
        ) from error
