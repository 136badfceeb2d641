"""`anamnesis edit`: opens a note's file in an editor; typed text is never lost."""

from __future__ import annotations

import click

from anamnesis.cli.naming import full_id
from anamnesis.cli.options import as_json, note_id, open_store
from anamnesis.cli.output import print_json, print_redacted, resemblance
from anamnesis.cli.text_input import edited
from anamnesis.editing import save_text, saved_on_error
from anamnesis.notes import Memory, as_dict, parse, render
from anamnesis.store import CHANGEABLE, MemoryStore


@click.command()
@note_id()
@as_json
def command(note_id: str, as_json: bool) -> None:
    """Edit a note, front matter and all, in $VISUAL or $EDITOR.

    ID is as in `anamnesis show`. An imported note counts as reviewed once you have edited it, and a note that an agent
    wrote becomes yours: dreams propose changes to it, but make none.

    JSON: the note, as in show.
    """
    with open_store() as store:
        before = store.get(full_id(store, note_id))
        text = edited(render(before))
        if text is None:
            note = before
        else:
            with saved_on_error(text):
                note = save_text(store, before, text)
                after = parse(text)
                print_redacted({name: getattr(after, name) for name in CHANGEABLE}, note)
                _print_resembling(store, before, note)
    if as_json:
        print_json(as_dict(note))
    else:
        click.echo(f"{'Unchanged' if note == before else 'Saved'}: {note.id}")


def _print_resembling(store: MemoryStore, before: Memory, note: Memory) -> None:
    if (note.title, note.body) != (before.title, before.body):
        for line in resemblance(store, note):
            click.echo(line, err=True)
