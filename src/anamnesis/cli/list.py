"""`anamnesis list`: lists notes, the newest first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from anamnesis.age import age
from anamnesis.cli.naming import remember
from anamnesis.cli.note_rows import draw_rows, paged
from anamnesis.cli.options import as_json, filters, long_option, open_store, sort_option
from anamnesis.cli.output import bare_table, on_terminal, print_json, print_lines, report_unreadable
from anamnesis.notes import Memory, as_dict
from anamnesis.notes.foreign import Origin, shown_origin
from anamnesis.plural import counted

if TYPE_CHECKING:
    from anamnesis.cli.screen import Screen


@click.command()
@filters
@sort_option()
@click.option("--limit", type=click.IntRange(min=0), default=50, show_default=True, help="At most this many.")
@click.option("--offset", type=click.IntRange(min=0), default=0, help="How many to skip.")
@long_option
@as_json
def command(order: str, limit: int, offset: int, is_long: bool, as_json: bool, **wanted: Any) -> None:
    """List notes, the newest first.

    On a terminal, a line per note: its number, the end of its id, the time since its last change, the last part of
    its project, and its title. Other commands accept the end of the id, or @1 for the first line. If there are more
    notes, a last line gives their number and the next offset.

    \b
    In a pipe: id, updated_at, type, project, title, separated by tabs; then, if it is not yours, where it comes from.
    JSON: as in search, without "body" and "score".
    """
    with open_store(only_to_read=True) as store:
        notes = store.list(limit=limit, offset=offset, order=order, **wanted)
        origins = store.origins(notes)
        total = store.count(**wanted)
        if not total and wanted["project"]:
            store.check_project(wanted["project"])
        report_unreadable(store)
    if on_terminal() and not as_json:
        remember(note.id for note in notes)
        with paged() as screen:
            _draw_long(screen, notes, origins) if is_long else draw_rows(screen, notes, origins=origins)
            screen.print(_summary(len(notes), offset, total), style="dim")
        return
    if as_json:
        print_json([as_dict(note, body=False) | shown_origin(origins, note) for note in notes])
    else:
        rows = [(note.id, note.updated_at, note.type, note.project, note.title) for note in notes]
        print_lines([(*row, *(each.sentence for each in [origins.get(row[0])] if each)) for row in rows])
    if offset + len(notes) < total:
        click.echo(_summary(len(notes), offset, total), err=True)


def _draw_long(screen: Screen, notes: list[Memory], origins: Mapping[str, Origin]) -> None:
    from rich.table import Column
    from rich.text import Text

    whole = (Column(name, no_wrap=True) for name in ("id", "changed", "type"))
    table = bare_table(*whole, Column("project", overflow="fold"), Column("title", ratio=1))
    for note in notes:
        origin = origins.get(note.id)
        title = Text.assemble(
            (f"{origin.brief}: " if origin else "", "yellow"),
            (note.title, "bold"),
            (f"  {' '.join('#' + tag for tag in note.tags)}", "dim"),
        )
        table.add_row(Text(note.id, "cyan"), age(note.updated_at), note.type, Text(note.project), title)
    if notes:
        screen.print(table)


def _summary(count: int, offset: int, total: int) -> str:
    """How many notes there are, which of them are shown, and how to get the next."""
    end = offset + count
    if count == total:
        return counted(total, "note")
    shown = f"{offset + 1:,} to {end:,}" if count else "None"
    return f"{shown} of {counted(total, 'note')}{f'; the next: --offset {end}' if end < total else ''}"
