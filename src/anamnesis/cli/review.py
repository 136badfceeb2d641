"""`anamnesis review`: lists foreign notes that wait for a review, and accepts or rejects them."""

from __future__ import annotations

import click

from anamnesis.cli.naming import chosen
from anamnesis.cli.options import as_json, note_id, open_store, yes_option
from anamnesis.cli.output import bare_table, console, in_a_line, on_terminal, print_json, print_lines
from anamnesis.notes import Memory, as_dict
from anamnesis.review import accept, reject, waiting

_PREVIEW = 300


@click.command()
@note_id("note_ids", metavar="[ID]...", nargs=-1)
@click.option("--all", "are_all", is_flag=True, help="All notes that wait.")
@click.option("--accept/--reject", "is_accepted", default=None, help="Let them be injected, or delete them.")
@yes_option
@as_json
def command(note_ids: tuple[str, ...], are_all: bool, is_accepted: bool | None, yes: bool, as_json: bool) -> None:
    """List the notes that were imported from elsewhere and wait for a review, or review them.

    Before its review, a global one is not injected by itself; a search finds it all the same. A rejected note goes to
    the trash; `anamnesis restore ID` brings it back. To edit a note is to accept it. ID is as in
    `anamnesis show`; where it is a guess, the command asks first, as `anamnesis delete` does.

    \b
    In a pipe: id, where it came from, project, title, separated by tabs.
    JSON: the notes that wait, or those that were reviewed, as of show.
    """
    if (is_accepted is None) == bool(note_ids or are_all):
        raise click.UsageError(
            "Give ID or --all together with --accept or --reject; without any of them, notes are listed."
        )
    with open_store() as store:
        found = waiting(store)
        if is_accepted is not None:
            decide = accept if is_accepted else reject
            if not are_all:
                found = chosen(store, note_ids, "Accept" if is_accepted else "Reject", yes)
            found = [decide(store, note.id) for note in found]
    if as_json:
        print_json([as_dict(note) for note in found])
    elif is_accepted is not None:
        for note in found:
            click.echo(f"{'Accepted' if is_accepted else 'Rejected'}: {note.id} ({in_a_line(note.title)})")
    elif on_terminal():
        _draw(found)
    else:
        print_lines([(note.id, note.machine_id, note.project, note.title) for note in found])


def _draw(found: list[Memory]) -> None:
    from rich.table import Column
    from rich.text import Text

    folded = (Column(name, overflow="fold") for name in ("from", "project"))
    table = bare_table(Column("id", no_wrap=True), *folded, Column("what it says", ratio=1))
    for note in found:
        says = Text.assemble((in_a_line(note.title), "bold"), f"\n{in_a_line(note.body[:_PREVIEW])}")
        table.add_row(Text(note.id, "cyan"), note.machine_id, note.project, says)
    screen = console()
    if found:
        screen.print(table)
    hint = "; `anamnesis review ID --accept` or `--reject` decides" if found else ""
    screen.print(f"Waiting for a review: {len(found):,}{hint}", style="dim")
