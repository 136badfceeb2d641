"""`anamnesis edit`: opens a note's file in an editor; typed text is never lost."""

from __future__ import annotations

import click

from anamnesis.cli.naming import full_id
from anamnesis.cli.options import as_json, note_id, open_store
from anamnesis.cli.output import print_json, print_redacted, resemblance
from anamnesis.cli.text_input import edited
from anamnesis.editing import EditConflict, SavedEdit, save_text, saved_on_error
from anamnesis.notes import Memory, as_dict, parse, render
from anamnesis.store import CHANGEABLE, MemoryStore


@click.command()
@note_id()
@as_json
def command(note_id: str, as_json: bool) -> None:
    """Edit a note, front matter and all, in $VISUAL or $EDITOR.

    ID is as in `anamnesis show`. An imported note counts as reviewed once you have edited it, and a note that an agent
    wrote becomes yours: dreams propose changes to it, but make none. If the note changes while you edit it, both
    changes are saved; where both changed the same lines, the editor opens again with both versions, between marks.

    JSON: the note, as in show.
    """
    with open_store() as store:
        before = store.get(full_id(store, note_id))
        done = _edit(store, before)
        if done.note != before:
            _print_resembling(store, before, done.note)
    if as_json:
        print_json(as_dict(done.note))
        return
    click.echo(f"{'Unchanged' if done.note == before else 'Saved'}: {done.note.id}")
    if done.merged:
        click.echo(done.merged)


def _edit(store: MemoryStore, before: Memory) -> SavedEdit:
    """Let the user edit a note until it is saved. Where others changed the same lines, both versions are edited again.

    A user who does not decide about them leaves the note as it is.
    """
    text = edited(render(before))
    while text is not None:
        try:
            with saved_on_error(text):
                done = save_text(store, before, text)
        except EditConflict as conflict:
            before, text = conflict.now, edited(conflict.text)
            if text is None:
                raise
        else:
            after = parse(text)
            print_redacted({name: getattr(after, name) for name in CHANGEABLE}, done.note)
            return done
    return SavedEdit(before, "")


def _print_resembling(store: MemoryStore, before: Memory, note: Memory) -> None:
    if (note.title, note.body) != (before.title, before.body):
        for line in resemblance(store, note):
            click.echo(line, err=True)
