"""`anamnesis restore`: lists deleted notes, and restores one."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import click

from anamnesis.age import age
from anamnesis.cli.context import settings
from anamnesis.cli.naming import resolve_note
from anamnesis.cli.options import as_json, open_store
from anamnesis.cli.output import bare_table, console, in_a_line, on_terminal, print_json, print_lines
from anamnesis.errors import InvalidNote
from anamnesis.notes import as_dict, parse
from anamnesis.store import MemoryStore
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
    In a pipe: id, time of deletion, file, title, separated by tabs; then, of a note that is not yours, its origin.
    JSON: the note, as in show; or [{"id", "title", "scope", "path", "deleted_at"}], with "origin" and "unreviewed" as
    in search
    """
    from anamnesis.exchange import standing

    with open_store() as store:
        if note_id:
            found_id = resolve_note(store, note_id, live=False, deleted=True).id
            topic = _topic(store, found_id)
            note = store.get(store.restore(found_id).id)  # the bridge may have changed it
            origin = store.origins([note]).get(note.id)
        else:
            found = deleted_notes(store)
    if note_id and (said := standing.return_of(settings().home, note.id)):
        click.echo(said, err=True)
    if note_id and as_json:
        print_json(as_dict(note) | (origin.shown() if origin else {}))
    elif note_id:
        click.echo(f"Restored: {note.id} ({in_a_line(note.title)}){f', {origin.brief}' if origin else ''}")
        if topic and "topic_key" not in note.engram:
            click.echo(f"Another note has its topic key {in_a_line(topic)} and keeps it.", err=True)
    elif as_json:
        print_json([each.shown() for each in found])
    elif on_terminal():
        _draw(found)
    else:
        print_lines([(each.id, each.deleted_at, each.path, each.title, *_remark(each)) for each in found])


def _remark(note: DeletedNote) -> list[str]:
    return [note.origin.brief] if note.origin else []


def _topic(store: MemoryStore, note_id: str) -> str:
    """The topic key in Engram of a deleted note."""
    for each in deleted_notes(store):
        if each.id == note_id:
            with contextlib.suppress(OSError, UnicodeError, InvalidNote):
                return str(parse((store.root / each.path).read_text("utf-8")).engram.get("topic_key") or "")
    return ""


def _draw(found: Sequence[DeletedNote]) -> None:
    from rich.table import Column
    from rich.text import Text

    table = bare_table(Column("id", no_wrap=True), Column("deleted", no_wrap=True), Column("title", ratio=1))
    for each in found:
        title = Text.assemble((each.title, "bold"), *((f" {remark}", "yellow") for remark in _remark(each)))
        table.add_row(Text(each.id, "cyan"), age(each.deleted_at), title)
    screen = console()
    if found:
        screen.print(table)
    screen.print(f"{len(found):,} deleted; `anamnesis restore ID` restores one", style="dim")
