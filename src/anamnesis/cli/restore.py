"""`anamnesis restore`: lists deleted notes, and restores one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import click

from anamnesis.age import age
from anamnesis.cli.context import settings
from anamnesis.cli.naming import resolve_note
from anamnesis.cli.options import as_json, open_store
from anamnesis.cli.output import bare_table, console, in_a_line, on_terminal, print_json, print_lines
from anamnesis.notes import as_dict
from anamnesis.store.deleted import DeletedNote, deleted_notes


@click.command()
@click.argument("note_id", metavar="[ID]", required=False)
@as_json
def command(note_id: str | None, as_json: bool) -> None:
    """Restore a deleted note, or list the deleted ones, the last deleted first.

    Deleted notes are in the trash; the files of those that were deleted through Engram have not moved. ID is as
    in `anamnesis show`. A note that another member of a team took out of a space does not get back there: the next
    sync makes it a note of your own.

    \b
    In a pipe: id, time of deletion, file, title, separated by tabs.
    JSON: the note, as in show; or [{"id", "title", "scope", "path", "deleted_at"}]
    """
    from anamnesis.exchange import standing

    with open_store() as store:
        if note_id:
            note = store.restore(resolve_note(store, note_id, live=False, deleted=True).id)
        else:
            found = deleted_notes(store)
    if note_id and (said := standing.return_of(settings().home, note.id)):
        click.echo(said, err=True)
    if note_id and as_json:
        print_json(as_dict(note))
    elif note_id:
        click.echo(f"Restored: {note.id} ({in_a_line(note.title)})")
    elif as_json:
        print_json([asdict(each) for each in found])
    elif on_terminal():
        _draw(found)
    else:
        print_lines([(each.id, each.deleted_at, each.path, each.title) for each in found])


def _draw(found: Sequence[DeletedNote]) -> None:
    from rich.table import Column
    from rich.text import Text

    table = bare_table(Column("id", no_wrap=True), Column("deleted", no_wrap=True), Column("title", ratio=1))
    for each in found:
        table.add_row(Text(each.id, "cyan"), age(each.deleted_at), Text(each.title, "bold"))
    screen = console()
    if found:
        screen.print(table)
    screen.print(f"{len(found):,} deleted; `anamnesis restore ID` restores one", style="dim")
