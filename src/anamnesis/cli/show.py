"""`anamnesis show`: one note."""

from __future__ import annotations

import click

from anamnesis.cli.naming import full_id
from anamnesis.cli.options import as_json, note_id, open_store
from anamnesis.cli.output import age, console, on_terminal, print_json
from anamnesis.notes import Memory, as_dict, render


@click.command()
@note_id()
@as_json
def command(note_id: str, as_json: bool) -> None:
    """Show a note: drawn on a terminal, as its file in a pipe.

    ID is a note's id or a part of one, a title, or @1 for the first line of the last list or search.

    JSON: as of search, without "score".
    """
    with open_store(only_to_read=True) as store:
        note = store.get(full_id(store, note_id))
    if as_json:
        print_json(as_dict(note))
    elif on_terminal():
        _draw(note)
    else:
        click.echo(render(note), nl=False)


def _draw(note: Memory) -> None:
    from rich.markdown import Markdown
    from rich.panel import Panel
    from rich.text import Text

    origin = f"{note.prov_source} on {note.machine_id}, confidence {note.confidence:g}"
    facts = f"{note.type} · {note.project} · {note.scope} · {age(note.updated_at)} · {origin}"
    if note.tags:
        facts += "\n" + " ".join(f"#{tag}" for tag in note.tags)
    if note.superseded:
        facts += f"\nsupersedes {' '.join(note.superseded)}"
    screen = console()
    screen.print(Panel(Text(facts, "dim"), title=Text(note.title, "bold"), subtitle=note.id, title_align="left"))
    screen.print(Markdown(note.body, hyperlinks=False))
