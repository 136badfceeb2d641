"""`anamnesis hub user`: adds, lists and removes accounts."""

from __future__ import annotations

import click

from anamnesis.cli.hub_options import administration, hub_command, print_table
from anamnesis.cli.output import print_json
from anamnesis.plural import counted


@click.group(name="user")
def user_command() -> None:
    """Add users, list them, and let them go."""


@user_command.command()
@click.argument("name")
@click.option("--back", is_flag=True, help="The same person comes back, and gets the personal space again.")
@hub_command
def add(database: str, name: str, back: bool, as_json: bool) -> None:
    """Add a user, with a space that nobody else can see.

    A name is one person's for ever, because the person's notes and personal space are kept under it: the name of a
    user who has left is refused, also after `anamnesis hub erase user`. If the same person comes back, add --back.
    The tokens, memberships and invitations ended, and do not come back. An issuer of OAuth tokens must not give a
    subject to another person either.

    JSON: {"user", "personal"}, and with --back "notes": how many the personal space has
    """
    from anamnesis.hub import accounts
    from anamnesis.hub.tenancy import personal_space

    with administration(database) as db:
        accounts.add_user(db, name, is_back=back)
        notes = next(each["notes"] for each in accounts.list_users(db) if each["name"] == name) if back else 0
    kept = f"{name} is back, with a personal space of {counted(notes, 'note')}, and is a member of no space"
    if as_json:
        print_json({"user": name, "personal": personal_space(name)} | ({"notes": notes} if back else {}))
    else:
        done = kept if back else f"Added {name}"
        click.echo(f"{done}. A token for a machine: anamnesis hub token create {name}")


@user_command.command(name="list")
@hub_command
def list_(database: str, as_json: bool) -> None:
    """List the users with their spaces, the notes of their own space, and when a token was last used.

    JSON: {"users": [{"name", "notes", "tokens", "used", "spaces", "created", "left"}]}
    """
    from anamnesis.hub import accounts

    with administration(database) as db:
        users = accounts.list_users(db)
    print_table(users, ("name", "notes", "tokens", "used", "spaces", "left"), as_json=as_json, key="users")


@user_command.command()
@click.argument("name")
@hub_command
def leave(database: str, name: str, as_json: bool) -> None:
    """Let a user go: all tokens end at once, and all memberships and invitations.

    What the user wrote in shared spaces stays, with the name, which no other person gets. The personal space stays
    until it is erased: save it with `anamnesis hub export NAME FILE` before, then `anamnesis hub erase user NAME`.

    JSON: {"user", "tokens", "spaces", "personal"}
    """
    from anamnesis.hub import accounts

    with administration(database) as db:
        left = accounts.leave(db, name)
    if as_json:
        print_json(left)
    else:
        ended = f"{counted(left['tokens'], 'token')} and {counted(left['spaces'], 'membership')}"
        click.echo(f"{name} has left: {ended} ended. The personal space {left['personal']} is kept until it is erased.")
