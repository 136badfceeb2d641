"""`anamnesis dream scan`: lists the notes that the next dream examines, the most important first."""

from __future__ import annotations

from typing import Any

import click

from anamnesis.cli.options import as_json, open_store, project_option
from anamnesis.cli.output import bare_table, console, in_a_line, on_terminal, print_json, print_lines
from anamnesis.dream.scanning import ScannedNote, changed_notes, scan
from anamnesis.plural import counted

_WIDTH = 10


@click.command()
@project_option("Only notes of this project.")
@click.option("-n", "--number", type=click.IntRange(1), default=20, show_default=True, help="At most this many.")
@as_json
def command(project: str | None, number: int, as_json: bool) -> None:
    """List the notes that changed since the last dream, by their priority. Changes nothing.

    The priority is the product of recency (halved every week), changes (revisions and repetitions), the weight of its
    kind, and novelty (the share of its words that no similar note has).

    \b
    In a pipe: id, priority, kind, project, title, separated by tabs.
    JSON: {"changed": COUNT, "notes": [{"id", "title", "project", "kind", "depth", "priority",
    "recency", "changes", "weight", "novelty"}]}
    """
    with open_store(only_to_read=True) as store:
        if project:
            store.check_project(project)
        wanted = {note.id for note in store.list(project=project)} if project else None
        notes = [note for note in changed_notes(store) if wanted is None or note.id in wanted]
        found = scan(store, notes, number)
    if as_json:
        print_json({"changed": len(notes), "notes": [_as_dict(each) for each in found]})
    elif on_terminal():
        _draw(found, len(notes))
    else:
        print_lines(
            [
                (each.note.id, f"{each.priority.value:.3f}", each.kind, each.note.project, each.note.title)
                for each in found
            ]
        )


def _as_dict(each: ScannedNote) -> dict[str, Any]:
    note, parts = each.note, each.priority
    about = {"id": note.id, "title": note.title, "project": note.project, "kind": each.kind, "depth": each.depth}
    return {**about, "priority": round(parts.value, 4), **{k: round(v, 4) for k, v in parts._asdict().items()}}


def _draw(found: list[ScannedNote], total: int) -> None:
    from rich.table import Column
    from rich.text import Text

    most = max((each.priority.value for each in found), default=0) or 1
    table = bare_table(Column("id", no_wrap=True), "priority", "", "kind", Column("title", ratio=1))
    for each in found:
        bar = Text("█" * max(1, round(_WIDTH * each.priority.value / most)), "cyan")
        title = in_a_line(each.note.title)
        table.add_row(Text(each.note.id, "cyan"), f"{each.priority.value:.2f}", bar, each.kind, Text(title))
    if found:
        console().print(table)
    console().print(f"{counted(total, 'note has', 'notes have')} changed since the last dream.", style="dim")
