"""`anamnesis dream classify`: what kind of memory each note is, and how deep."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click

from anamnesis.cli.options import as_json, filters, open_store
from anamnesis.cli.output import bare_table, bars, console, in_a_line, on_terminal, print_json, print_lines
from anamnesis.dream.kinds import KINDS, Depth, Kind
from anamnesis.dream.scanning import classified
from anamnesis.notes import Memory

_DEPTHS = {1: "episodic", 2: "intermediate", 3: "semantic"}


@click.command()
@filters
@click.option("--kind", type=click.Choice(KINDS, case_sensitive=False), help="Only notes of this kind.")
@click.option("--limit", type=click.IntRange(min=0), default=50, show_default=True, help="At most this many.")
@as_json
def command(kind: str | None, limit: int, as_json: bool, **wanted: Any) -> None:
    """List notes with their kind and depth, the newest first. Changes nothing.

    A note's kind comes from its tags or its observation, else from its type and wording. The depth is 1 for an event,
    2 for a procedure or a solution, 3 for a general fact.
    `anamnesis dream --phase classify` proposes another type where a note's type is clearly wrong.

    \b
    In a pipe: id, kind, depth, type, project, title, separated by tabs.
    JSON: [{"id", "kind", "depth", "type", "project", "title"}]
    """
    with open_store(only_to_read=True) as store:
        listed = store.list(**wanted)
        if not listed and wanted["project"]:
            store.check_project(wanted["project"])
        places = {note.id: place for place, note in enumerate(listed)}
        notes = sorted(store.live(places), key=lambda note: places[note.id])
    found = [each for each in classified(notes) if kind in (None, each[1])]
    if as_json:
        print_json([_as_dict(*each) for each in found[:limit]])
    elif on_terminal():
        _draw(found, limit)
    else:
        print_lines([(n.id, kind, depth, n.type, n.project, n.title) for n, kind, depth in found[:limit]])


def _as_dict(note: Memory, kind: Kind, depth: Depth) -> dict[str, Any]:
    about = {"type": note.type, "project": note.project, "title": note.title}
    return {"id": note.id, "kind": kind, "depth": depth, **about}


def _draw(found: list[tuple[Memory, Kind, Depth]], limit: int) -> None:
    from rich.table import Column
    from rich.text import Text

    screen = console()
    table = bare_table(Column("id", no_wrap=True), "kind", "depth", Column("title", ratio=1))
    for note, kind, depth in found[:limit]:
        title = Text(in_a_line(note.title))
        table.add_row(Text(note.id, "cyan"), kind, Text(f"{depth} {_DEPTHS[depth]}", "dim"), title)
    if found:
        screen.print(table)
    counts = bare_table("", "", "", show_header=False)
    for name, bar, count in bars(Counter(kind for _, kind, _ in found)):
        counts.add_row(name, Text(bar, "cyan"), f"{count:,}")
    screen.print(counts)
