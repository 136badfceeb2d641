"""`anamnesis list`: the notes, newest first."""

from __future__ import annotations

import click

from anamnesis.cli.options import as_json, filters, open_store
from anamnesis.cli.output import age, bare_table, console, on_terminal, print_json, print_lines
from anamnesis.notes import Memory, as_dict


@click.command()
@filters
@click.option("--limit", type=click.IntRange(min=0), default=50, show_default=True, help="How many at the most.")
@click.option("--offset", type=click.IntRange(min=0), default=0, help="How many to leave out first.")
@as_json
def command(project: str | None, type: str | None, scope: str | None, limit: int, offset: int, as_json: bool) -> None:
    """List notes, the newest first.

    \b
    In a pipe: id, updated_at, type, project, title, separated by tabs.
    JSON: as of search, without "body" and "score".
    """
    with open_store(only_to_read=True) as store:
        notes = store.list(project=project, type=type, scope=scope, limit=limit, offset=offset)
        total = store.count(project=project, type=type, scope=scope)
        if not total and project:
            store.check_project(project)
    if as_json:
        print_json([as_dict(note, body=False) for note in notes])
    elif on_terminal():
        _draw(notes, offset, total)
    else:
        print_lines([(note.id, note.updated_at, note.type, note.project, note.title) for note in notes])


def _draw(notes: list[Memory], offset: int, total: int) -> None:
    from rich.table import Column
    from rich.text import Text

    whole = (Column(name, no_wrap=True) for name in ("id", "changed", "type"))
    table = bare_table(*whole, Column("project", overflow="fold"), Column("title", ratio=1))
    for note in notes:
        title = Text.assemble((note.title, "bold"), (f"  {' '.join('#' + tag for tag in note.tags)}", "dim"))
        table.add_row(Text(note.id, "cyan"), age(note.updated_at), note.type, Text(note.project), title)
    screen = console()
    if notes:
        screen.print(table)
    screen.print(f"{len(notes)} of {total:,} notes, from {offset + 1 if notes else 0}", style="dim")
