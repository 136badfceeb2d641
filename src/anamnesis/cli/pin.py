"""`anamnesis pin`: puts notes first at the start of each session."""

from __future__ import annotations

from anamnesis.cli.metadata import pin_command
from anamnesis.editing import with_tags

_HELP = """Pin notes, so that new sessions get them first.

The sessions of its project, or all sessions if it is global, get a pinned note before others, however old it is. It
has the tag `pinned`: `anamnesis list --tag pinned`."""

command = pin_command(_HELP, with_tags)
