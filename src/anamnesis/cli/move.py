"""`anamnesis move`: gives notes another project, type, scope or space."""

from __future__ import annotations

from typing import Any

import click

from anamnesis.cli.metadata import change_notes
from anamnesis.cli.options import as_json, note_id, project_option, space_option, yes_option
from anamnesis.cli.spaces import check_known, departures, release, space_warnings
from anamnesis.errors import InvalidArgument
from anamnesis.notes import SCOPES, TYPES, Memory
from anamnesis.notes.spaces import with_space


@click.command()
@note_id("note_ids", metavar="ID...", nargs=-1, required=True)
@project_option("Their new project.", is_new=True)
@click.option("-t", "--type", type=click.Choice(TYPES), help="Their new type.")
@click.option("--scope", type=click.Choice(SCOPES), help="Their new scope: synced to other machines, or not.")
@space_option("Their new space at the hub; `~` is your own.")
@yes_option
@as_json
def command(note_ids: tuple[str, ...], space: str | None, yes: bool, as_json: bool, **given: str | None) -> None:
    """Move notes to another project, type, scope or space.

    ID is as in `anamnesis show`. Before a note becomes portable or moves to a space, which sends it to other machines,
    the command asks if ID is a guess, as `anamnesis delete` does. The next sync moves the note at the hub, and moves it
    to the trash on the machines of people who see only its old space: the command says what stays there. A note that
    another member brought into a shared space stays in it, and you get a copy.

    JSON: the notes, as in show.
    """
    changes = {name: value for name, value in given.items() if value is not None}
    if not changes and not space:
        raise click.UsageError("Give --project, --type, --scope or --space.")

    def change(note: Memory) -> dict[str, Any]:
        if space and changes.get("scope", note.scope) != SCOPES[0]:
            raise InvalidArgument(
                f"The note {note.id} is machine-local; only portable notes have a space.", "Add --scope portable."
            )
        return {**changes, "extra": with_space(note, space).extra} if space else changes

    if space:
        check_known(space)
    leaves = bool(space) or given.get("scope") == "portable"
    notes = change_notes(note_ids, change, as_json=as_json, question="Sync", yes=yes or not leaves)
    if space:
        release(notes)
    moved = given.get("scope") == SCOPES[1] or space
    for line in (*space_warnings(space), *(departures(notes, space or "") if moved else ())):
        click.echo(line, err=True)
