"""`anamnesis pin`: puts notes first at the start of each session."""

from __future__ import annotations

from anamnesis.cli.metadata import pin_command, with_tags

command = pin_command(
    "Pin notes: a session of their project, or of any if they are global, is given them first.\n\n"
    "A pinned note has the tag `pinned`; `anamnesis list --tag pinned` lists them.",
    with_tags,
)
