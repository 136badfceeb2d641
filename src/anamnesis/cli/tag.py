"""`anamnesis tag`: adds tags to a note."""

from __future__ import annotations

from anamnesis.cli.metadata import tag_command
from anamnesis.editing import with_tags

command = tag_command("Add tags to a note.", with_tags)
