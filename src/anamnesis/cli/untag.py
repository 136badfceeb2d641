"""`anamnesis untag`: removes tags from a note."""

from __future__ import annotations

from anamnesis.cli.metadata import tag_command
from anamnesis.editing import without_tags

command = tag_command("Remove tags from a note.", without_tags)
