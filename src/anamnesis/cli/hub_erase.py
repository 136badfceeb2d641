"""`anamnesis hub erase`: what must go for good."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from anamnesis.cli.hub_options import administration, hub_command
from anamnesis.cli.output import print_json
from anamnesis.plural import counted

_thoroughly = click.option(
    "--thoroughly", is_flag=True, help="Rewrite the tables, so that nothing is left in their files; locks them."
)
_yes = click.option("-y", "--yes", is_flag=True, help="Do not ask.")


def _erase_options(command: Callable[..., Any]) -> Callable[..., Any]:
    return _thoroughly(_yes(hub_command(command)))


@click.group(name="erase")
def erase_command() -> None:
    """Erase a note with all its versions, a user who has left, or a space. Nothing brings it back but a backup.

    Deleted rows stay in PostgreSQL's WAL, replicas and backups until these are rotated.
    """


@erase_command.command()
@click.argument("space")
@click.argument("id")
@_erase_options
def note(database: str, space: str, id: str, thoroughly: bool, yes: bool, as_json: bool) -> None:
    """Erase a note: every version goes, with its author. The machines that have it are told to delete it.

    JSON: {"space", "id", "version"}, the version of the tombstone.
    """
    from anamnesis.hub import accounts, erasure

    _ask(f"Erase the note {id} of {space} with all versions?", yes)
    with administration(database) as db:
        found = accounts.find_space(db, space)
        erasure.as_owner(db, found)
        version = erasure.erase_note(db, found, id)
    erasure.vacuum(database, full=thoroughly)
    if as_json:
        print_json({"space": space, "id": id, "version": version})
    else:
        click.echo(f"Erased {id} of {space}.")


@erase_command.command()
@click.argument("name")
@_erase_options
def user(database: str, name: str, thoroughly: bool, yes: bool, as_json: bool) -> None:
    """Erase a user who has left, with the personal space. What the user wrote in shared spaces stays, with the name.

    JSON: {"user", "notes"}
    """
    from anamnesis.hub import erasure

    _ask(f"Erase the user {name} with the personal space?", yes)
    with administration(database) as db:
        erased = erasure.erase_user(db, name)
    erasure.vacuum(database, full=thoroughly)
    if as_json:
        print_json(erased)
    else:
        click.echo(f"Erased {name} and {counted(erased['notes'], 'note')}.")


@erase_command.command()
@click.argument("name")
@_erase_options
def space(database: str, name: str, thoroughly: bool, yes: bool, as_json: bool) -> None:
    """Erase a shared space with all its notes. Machines keep the notes that they have of it.

    JSON: {"space", "notes"}
    """
    from anamnesis.hub import erasure

    _ask(f"Erase the space {name} with all its notes?", yes)
    with administration(database) as db:
        notes = erasure.erase_space(db, name)
    erasure.vacuum(database, full=thoroughly)
    if as_json:
        print_json({"space": name, "notes": notes})
    else:
        click.echo(f"Erased {name} and {counted(notes, 'note')}.")


def _ask(question: str, yes: bool) -> None:
    if not yes:
        click.confirm(question, abort=True, err=True)
