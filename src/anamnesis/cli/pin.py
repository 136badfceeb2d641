"""`anamnesis pin`: puts notes first at the start of each session."""

from __future__ import annotations

from anamnesis.cli.metadata import pin_command
from anamnesis.editing import with_tags

_HELP = """Pin notes, so that sessions are given them first.

A pinned note is given to the sessions of its project, or to all if it is global, before others and however old it is.
It has the tag `pinned`: `anamnesis list --tag pinned`."""

command = pin_command(_HELP, with_tags)
