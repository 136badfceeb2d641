"""`anamnesis edit`: opens a note's file in an editor; typed text is never lost."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from anamnesis.cli.given_text import edited
from anamnesis.cli.naming import full_id
from anamnesis.cli.options import as_json, note_id, open_store
from anamnesis.cli.output import print_json, resemblance, tell_redacted
from anamnesis.editing import save_text
from anamnesis.errors import AnamnesisError
from anamnesis.notes import Memory, as_dict, parse, render
from anamnesis.store import CHANGEABLE, MemoryStore


@click.command()
@note_id()
@as_json
def command(note_id: str, as_json: bool) -> None:
    """Edit a note, front matter and all, in $VISUAL or $EDITOR.

    ID is as in `anamnesis show`. A note from elsewhere counts as reviewed once it was edited, and one that an agent
    wrote is yours from then on: dreams propose changes to it, and make none.

    JSON: the note, as of show.
    """
    with open_store() as store:
        before = store.get(full_id(store, note_id))
        text = edited(render(before))
        if text is None:
            note = before
        else:
            try:
                note = save_text(store, before, text)
                after = parse(text)
                tell_redacted({name: getattr(after, name) for name in CHANGEABLE}, note)
                _tell_resembling(store, before, note)
            except AnamnesisError as error:
                error.hint = f"{error.hint} What you typed is in {_keep(text)}.".strip()
                raise
    if as_json:
        print_json(as_dict(note))
    else:
        click.echo(f"{'Unchanged' if note == before else 'Saved'}: {note.id}")


def _tell_resembling(store: MemoryStore, before: Memory, note: Memory) -> None:
    if (note.title, note.body) != (before.title, before.body):
        for line in resemblance(store, note):
            click.echo(line, err=True)


def _keep(text: str) -> Path:
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".md", delete=False) as file:
        file.write(text)
    return Path(file.name)
