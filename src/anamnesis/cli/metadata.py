"""Changes of notes' metadata, for the commands that make them without an editor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click

from anamnesis.cli.completing import complete_tags
from anamnesis.cli.naming import chosen
from anamnesis.cli.options import as_json, note_id, open_store
from anamnesis.cli.output import in_a_line, print_json, tell_redacted
from anamnesis.errors import InvalidArgument
from anamnesis.notes import PINNED, Memory, as_dict

Change = Callable[[Memory], dict[str, Any]]


def change_notes(given: Sequence[str], change: Change, *, as_json: bool, question: str = "", yes: bool = True) -> None:
    """Change each of these notes, and print what they are now. Before any is changed, all are found."""
    with open_store() as store:
        notes = chosen(store, given, question, yes)
        changed = [(note, store.update(note.id, expected=note, **change(note))) for note in notes]
    for before, note in changed:
        tell_redacted(change(before), note)
        if not as_json:
            click.echo(f"{'Unchanged' if note == before else 'Changed'}: {_described(note)}")
    if as_json:
        print_json([as_dict(note) for _, note in changed])


def tag_command(help: str, change: Callable[[Iterable[str]], Change]) -> click.Command:
    """A command that changes the given tags of one note."""

    @click.command(help=f"{help}\n\nID is as in `anamnesis show`.\n\nJSON: [the note, as of show]")
    @note_id()
    @click.argument("tags", nargs=-1, required=True, metavar="TAG...", shell_complete=complete_tags)
    @as_json
    def command(note_id: str, tags: tuple[str, ...], as_json: bool) -> None:
        change_notes([note_id], change(tags), as_json=as_json)

    return command


def pin_command(help: str, change: Callable[[Iterable[str]], Change]) -> click.Command:
    """A command that changes the tag of pinned notes."""

    @click.command(help=f"{help}\n\nID is as in `anamnesis show`.\n\nJSON: the notes, as of show.")
    @note_id("note_ids", metavar="ID...", nargs=-1, required=True)
    @as_json
    def command(note_ids: tuple[str, ...], as_json: bool) -> None:
        change_notes(note_ids, change([PINNED]), as_json=as_json)

    return command


def with_tags(tags: Iterable[str]) -> Change:
    """Add tags to a note, except those that it has in any case."""
    new: dict[str, str] = {}
    for tag in _checked(tags):
        new.setdefault(tag.lower(), tag)

    def change(note: Memory) -> dict[str, Any]:
        known = {tag.lower() for tag in note.tags}
        return {"tags": [*note.tags, *(tag for lower, tag in new.items() if lower not in known)]}

    return change


def without_tags(tags: Iterable[str]) -> Change:
    """Remove tags from a note, in any case."""
    gone = {tag.lower() for tag in _checked(tags)}
    return lambda note: {"tags": [tag for tag in note.tags if tag.lower() not in gone]}


def _checked(tags: Iterable[str]) -> list[str]:
    bare = [tag.strip().removeprefix("#").strip() for tag in tags]
    if not all(bare):
        raise InvalidArgument("A tag is empty.", "Give a word, with or without #.")
    return bare


def _described(note: Memory) -> str:
    place = f"{note.id} ({in_a_line(note.title)}): {note.type} · {note.project} · {note.scope}"
    return " ".join([place, *(f"#{tag}" for tag in note.tags)])
