"""`anamnesis restore`: notes out of the trash."""

from __future__ import annotations

from dataclasses import asdict

import click

from anamnesis.cli.options import as_json, open_store
from anamnesis.cli.output import print_json, print_lines
from anamnesis.notes import as_dict


@click.command()
@click.argument("note_id", metavar="[ID]", required=False)
@as_json
def command(note_id: str | None, as_json: bool) -> None:
    """Bring back a deleted note, or list the trash, the last deleted first.

    \b
    In a pipe: id, time of deletion, file, separated by tabs.
    JSON: the note, as of show; or [{"id", "scope", "path", "deleted_at", "title"}]
    """
    with open_store() as store:
        if note_id:
            note = store.restore(note_id)
        else:
            trashed = store.trashed()
    if note_id and as_json:
        print_json(as_dict(note))
    elif note_id:
        click.echo(f"Restored: {note.id} ({note.title})")
    elif as_json:
        print_json([asdict(item) for item in trashed])
    else:
        print_lines([(item.id, item.deleted_at, item.path) for item in trashed])
