"""`anamnesis edit`: opens a note's file in an editor; typed text is never lost."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from anamnesis.cli.given_text import edited
from anamnesis.cli.naming import full_id
from anamnesis.cli.options import as_json, note_id, open_store
from anamnesis.cli.output import print_json, resemblance, tell_redacted
from anamnesis.errors import AnamnesisError, InvalidNote
from anamnesis.notes import Memory, as_dict, parse, render
from anamnesis.notes.foreign import as_reviewed
from anamnesis.store import CHANGEABLE, MemoryStore


@click.command()
@note_id()
@as_json
def command(note_id: str, as_json: bool) -> None:
    """Edit a note, front matter and all, in $VISUAL or $EDITOR.

    ID is as in `anamnesis show`. A note from elsewhere counts as reviewed once it was edited.

    JSON: the note, as of show.
    """
    with open_store() as store:
        before = store.get(full_id(store, note_id))
        text = edited(render(before))
        if text is None:
            note = before
        else:
            try:
                note = _save(store, before, text)
                _tell_resembling(store, before, note)
            except AnamnesisError as error:
                error.hint = f"{error.hint} What you typed is in {_keep(text)}.".strip()
                raise
    if as_json:
        print_json(as_dict(note))
    else:
        click.echo(f"{'Unchanged' if note == before else 'Saved'}: {note.id}")


def _save(store: MemoryStore, before: Memory, text: str) -> Memory:
    after = as_reviewed(parse(text))
    if after.id != before.id:
        raise InvalidNote(f"The id was changed from {before.id} to {after.id}.", "An id stays for good.")
    given = {name: getattr(after, name) for name in CHANGEABLE}
    note = store.update(before.id, expected=before, **given)
    tell_redacted(given, note)
    return note


def _tell_resembling(store: MemoryStore, before: Memory, note: Memory) -> None:
    if (note.title, note.body) != (before.title, before.body):
        for line in resemblance(store, note):
            click.echo(line, err=True)


def _keep(text: str) -> Path:
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".md", delete=False) as file:
        file.write(text)
    return Path(file.name)
