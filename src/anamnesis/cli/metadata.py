"""Changes to notes' metadata, for the commands that need no editor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import click

from anamnesis.cli.completing import complete_tags
from anamnesis.cli.naming import resolve_notes
from anamnesis.cli.options import as_json, note_id, open_store
from anamnesis.cli.output import in_a_line, print_json, print_redacted
from anamnesis.editing import Change, apply_change
from anamnesis.notes import PINNED, Memory, as_dict
from anamnesis.notes.foreign import shown_origin
from anamnesis.notes.spaces import is_shared, space_of


def change_notes(
    given: Sequence[str], change: Change, *, as_json: bool, question: str = "", yes: bool = True, edits: bool = True
) -> list[str]:
    """Change the named notes, print them, and return their ids. All are found before any is changed.

    `edits`: the change makes a note the user's own.
    """
    with open_store() as store:
        notes = resolve_notes(store, given, question, yes)
        changed = [(note, apply_change(store, note, change(note), edits=edits)) for note in notes]
        origins = store.origins(note for _, note in changed)
    for before, note in changed:
        print_redacted(change(before), note)
        if not as_json:
            click.echo(f"{'Unchanged' if note == before else 'Changed'}: {_described(note)}")
    if as_json:
        print_json([as_dict(note) | shown_origin(origins, note) for _, note in changed])
    return [note.id for _, note in changed]


def tag_command(help: str, change: Callable[[Iterable[str]], Change]) -> click.Command:
    """A command that changes the given tags of one note."""

    @click.command(help=f"{help}\n\nID is as in `anamnesis show`.\n\nJSON: [the note, as in show]")
    @note_id()
    @click.argument("tags", nargs=-1, required=True, metavar="TAG...", shell_complete=complete_tags)
    @as_json
    def command(note_id: str, tags: tuple[str, ...], as_json: bool) -> None:
        change_notes([note_id], change(tags), as_json=as_json)

    return command


def pin_command(help: str, change: Callable[[Iterable[str]], Change]) -> click.Command:
    """A command that changes the tag of pinned notes."""

    @click.command(help=f"{help}\n\nID is as in `anamnesis show`.\n\nJSON: the notes, as in show.")
    @note_id("note_ids", metavar="ID...", nargs=-1, required=True)
    @as_json
    def command(note_ids: tuple[str, ...], as_json: bool) -> None:
        change_notes(note_ids, change([PINNED]), as_json=as_json, edits=False)

    return command


def _described(note: Memory) -> str:
    where = f"space {name}" if is_shared(name := space_of(note)) else note.scope
    place = f"{note.id} ({in_a_line(note.title)}): {note.type} · {note.project} · {where}"
    return " ".join([place, *(f"#{tag}" for tag in note.tags)])
