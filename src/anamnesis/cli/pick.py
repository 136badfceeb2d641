"""`anamnesis pick`: lets a person choose a note, for shells and editors."""

from __future__ import annotations

import sys

import click

from anamnesis.cli.context import settings
from anamnesis.cli.options import as_json, open_store
from anamnesis.cli.output import print_json
from anamnesis.errors import InvalidArgument
from anamnesis.notes import as_dict
from anamnesis.store.recording import record


@click.command()
@click.argument("query", nargs=-1)
@click.option("--body", is_flag=True, help="Print the text of the note instead of its id.")
@as_json
def command(query: tuple[str, ...], body: bool, as_json: bool) -> None:
    """Choose a note on the terminal, starting with a search for QUERY, and print its id.

    The search is drawn on stderr and read from stdin, so that stdout can be a pipe or a variable of a shell:
    anamnesis edit "$(anamnesis pick)". Enter chooses; esc prints nothing and exits with 1.

    JSON: the note, as in show.
    """
    from anamnesis import tui

    if reason := tui.refusal():
        raise InvalidArgument(reason)
    chosen = tui.pick(settings(), " ".join(query))
    if chosen is None:
        sys.exit(1)
    if not (body or as_json):
        click.echo(chosen)
        return
    with open_store(only_to_read=True) as store:
        note = store.get(chosen)
        origin = store.origins([note]).get(note.id)
        record(store.root, "opened", [note.id])
    if as_json:
        print_json(as_dict(note) | (origin.shown() if origin else {}))
    else:
        click.echo(note.body)
        if origin:
            click.echo(f"anamnesis: this note is {origin.sentence}.", err=True)
