"""`anamnesis delete`: notes into the trash."""

from __future__ import annotations

import click

from anamnesis.cli.options import as_json, full_id, note_id, open_store
from anamnesis.cli.output import in_a_line, print_json
from anamnesis.notes import as_dict


@click.command()
@note_id("note_ids", metavar="ID...", nargs=-1, required=True)
@as_json
def command(note_ids: tuple[str, ...], as_json: bool) -> None:
    """Delete notes. They go to the trash; `anamnesis restore ID` brings them back.

    ID may be the beginning of an id.

    JSON: the deleted notes, as of show.
    """
    with open_store() as store:
        ids = [full_id(store, given) for given in note_ids]
        for each in ids:
            store.get(each)  # all or none
        deleted = [store.delete(each) for each in dict.fromkeys(ids)]
    if as_json:
        print_json([as_dict(note) for note in deleted])
    else:
        for note in deleted:
            click.echo(f"Deleted: {note.id} ({in_a_line(note.title)}). To bring it back: anamnesis restore {note.id}")
