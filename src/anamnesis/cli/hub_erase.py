"""`anamnesis hub erase`: removes a note, a user or a space with every version."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from anamnesis.cli.hub_options import administration, hub_command
from anamnesis.cli.output import print_json
from anamnesis.plural import counted

if TYPE_CHECKING:
    from anamnesis.hub.database import Connection

_thoroughly = click.option(
    "--thoroughly", is_flag=True, help="Rewrite the tables, so that nothing is left in their files; locks them."
)
_yes = click.option("-y", "--yes", is_flag=True, help="Do not ask.")


def _erase_options(command: Callable[..., Any]) -> Callable[..., Any]:
    return _thoroughly(_yes(hub_command(command)))


@click.group(name="erase")
def erase_command() -> None:
    """Erase a note with all its versions, a user who has left, or a space. Only a backup can restore it.

    Deleted rows stay in PostgreSQL's WAL, replicas and backups until these are rotated.
    """


@erase_command.command()
@click.argument("space")
@click.argument("id")
@_erase_options
def note(database: str, space: str, id: str, **how: bool) -> None:
    """Erase a note: every version goes, with its author. Machines that have the note delete it at their next sync.

    A note that was moved has versions in other spaces too: the answer names them, and erasing them is another command.

    JSON: {"space", "id", "version", "elsewhere": [SPACE]}, with the version of the tombstone.
    """
    from anamnesis.hub import accounts, erasure

    def erase(db: Connection) -> dict[str, Any]:
        found = accounts.find_space(db, space)
        erasure.as_owner(db, found)
        version = erasure.erase_note(db, found, id)
        return {"space": space, "id": id, "version": version, "elsewhere": erasure.spaces_with(db, id)}

    def then(erased: dict[str, Any]) -> str:
        others = " and ".join(erased["elsewhere"])
        removed = "Machines that have it from there delete it at their next sync."
        return f"Versions of it are still in {others}: erase them there too." if others else removed

    _erase(database, f"the note {id} of {space} with all versions", erase, then, **how)


@erase_command.command()
@click.argument("name")
@_erase_options
def user(database: str, name: str, **how: bool) -> None:
    """Erase a user who has left, with the personal space. What the user wrote in shared spaces stays, with the name.

    JSON: {"user", "notes"}
    """
    from anamnesis.hub import erasure

    def then(_: dict[str, Any]) -> str:
        return f"What {name} wrote in shared spaces stays, and so does what {name}'s machines hold."

    _erase(database, f"the user {name} with the personal space", lambda db: erasure.erase_user(db, name), then, **how)


@erase_command.command()
@click.argument("name")
@_erase_options
def space(database: str, name: str, **how: bool) -> None:
    """Erase a shared space with all its notes. Machines keep the notes that they have of it.

    JSON: {"space", "notes"}
    """
    from anamnesis.hub import erasure

    def erase(db: Connection) -> dict[str, Any]:
        return {"space": name, "notes": erasure.erase_space(db, name)}

    def then(_: dict[str, Any]) -> str:
        return "The machines of its members keep the notes that they have of it."

    _erase(database, f"the space {name} with all its notes", erase, then, **how)


def _erase(
    database: str,
    what: str,
    erase: Callable[[Connection], dict[str, Any]],
    then: Callable[[dict[str, Any]], str],
    *,
    thoroughly: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Ask, erase in one transaction, remove the rows from the files, and say what was erased and who has it still."""
    from anamnesis.hub.erasure import vacuum

    if not yes:
        click.confirm(f"Erase {what}?", abort=True, err=True)
    with administration(database) as db:
        erased = erase(db)
    vacuum(database, full=thoroughly)
    if as_json:
        print_json(erased)
    else:
        notes = f" ({counted(erased['notes'], 'note')})" if "notes" in erased else ""
        click.echo(f"Erased {what}{notes}. {then(erased)}")
