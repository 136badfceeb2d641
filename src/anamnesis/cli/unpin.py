"""`anamnesis unpin`: removes what `anamnesis pin` added."""

from __future__ import annotations

from anamnesis.cli.metadata import pin_command
from anamnesis.editing import without_tags

command = pin_command("Unpin notes: they are injected like all others.", without_tags)
