"""`anamnesis move`: gives notes another project, type or scope."""

from __future__ import annotations

import click

from anamnesis.cli.metadata import change_notes
from anamnesis.cli.options import as_json, note_id, project_option, yes_option
from anamnesis.notes import SCOPES, TYPES


@click.command()
@note_id("note_ids", metavar="ID...", nargs=-1, required=True)
@project_option("Their new project.", is_new=True)
@click.option("-t", "--type", type=click.Choice(TYPES), help="Their new type.")
@click.option("--scope", type=click.Choice(SCOPES), help="Their new scope: synced to other machines, or not.")
@yes_option
@as_json
def command(
    note_ids: tuple[str, ...], project: str | None, type: str | None, scope: str | None, yes: bool, as_json: bool
) -> None:
    """Move notes to another project, type or scope.

    ID is as in `anamnesis show`. Before a note becomes portable, which sends it to other machines, the command asks
    unless ID is a whole id; in a pipe, it wants --yes.

    JSON: the notes, as of show.
    """
    given = {"project": project, "type": type, "scope": scope}
    changes = {name: value for name, value in given.items() if value is not None}
    if not changes:
        raise click.UsageError("Say where to: --project, --type or --scope.")
    leaves = scope == "portable"
    change_notes(note_ids, lambda _: changes, as_json=as_json, question="Sync", yes=yes or not leaves)
