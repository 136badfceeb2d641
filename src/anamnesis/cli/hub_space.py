"""`anamnesis hub space`: what is shared, and by whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from anamnesis.cli.hub_options import administration, hub_command, print_table
from anamnesis.cli.output import print_json

if TYPE_CHECKING:
    from anamnesis.hub.accounts import Space
    from anamnesis.hub.database import Connection

_ROLES = ("reader", "writer", "keeper", "owner")
Member = tuple[str, str]


class _Member(click.ParamType[Member]):
    """A member as user:role."""

    name = "user:role"

    def convert(self, value: str | Member, param: click.Parameter | None, ctx: click.Context | None) -> Member:
        if isinstance(value, tuple):
            return value
        user, _, role = value.rpartition(":")
        if not user or role not in _ROLES:
            self.fail(f"{value!r} is not USER:ROLE with a role of {', '.join(_ROLES)}.", param, ctx)
        return user, role


MEMBER = _Member()


@click.group(name="space")
def space_command() -> None:
    """Add shared spaces, and say who and what belongs to them.

    \b
    reader  reads
    writer  writes and deletes notes
    keeper  also invites readers and writers, removes them, makes writers readers, manages projects, sees the audit log
    owner   everything, also erasing
    """


@space_command.command()
@click.argument("name")
@click.option("--member", "members", multiple=True, type=MEMBER, metavar="USER:ROLE", help="A member; repeatable.")
@click.option("--project", "projects", multiple=True, metavar="KEY", help="A project whose new notes go to the space.")
@hub_command
def add(database: str, name: str, members: tuple[Member, ...], projects: tuple[str, ...], as_json: bool) -> None:
    """Add a space, with its first members and projects. A member without an account gets one, without a token.

    JSON: {"space", "members": [USER:ROLE], "projects": [KEY], "added": [USER]}
    """
    from anamnesis.hub import accounts

    with administration(database) as db:
        space = accounts.add_space(db, name)
        added = [user for user, role in members if _put_member(db, space, user, role)]
        for project in projects:
            accounts.give_project(db, space, project)
    if as_json:
        shown = [f"{user}:{role}" for user, role in members]
        print_json({"space": name, "members": shown, "projects": [*projects], "added": added})
    else:
        click.echo(f"Added the space {name}.")
        _say_added(added)


@space_command.command(name="list")
@hub_command
def list_(database: str, as_json: bool) -> None:
    """List the spaces with their members, those who were invited, their projects and number of notes.

    JSON: {"spaces": [{"name", "notes", "seq", "members", "invited", "projects", "created"}]}
    """
    from anamnesis.hub import accounts

    with administration(database) as db:
        spaces = accounts.list_spaces(db)
    print_table(spaces, ("name", "notes", "seq", "members", "invited", "projects"), as_json=as_json, key="spaces")


@space_command.command()
@click.argument("name")
@click.argument("members", nargs=-1, type=MEMBER, metavar="[USER:ROLE]...")
@click.option("--remove", multiple=True, metavar="USER", help="End a membership or an invitation; repeatable.")
@hub_command
def member(database: str, name: str, members: tuple[Member, ...], remove: tuple[str, ...], as_json: bool) -> None:
    """Add members to a space, give them other roles, or remove them. A member without an account gets one.

    It holds at once: only those whom an owner or a keeper invites have to accept.

    JSON: {"space", "members": [USER:ROLE], "added": [USER], "removed": [USER]}
    """
    from anamnesis.hub import accounts

    with administration(database) as db:
        space = accounts.find_space(db, name)
        added = [user for user, role in members if _put_member(db, space, user, role)]
        removed = [user for user in remove if accounts.remove_member(db, space, user)]
        for user in {*remove}.difference(removed):
            accounts.find_user(db, user)  # or a sentence about the name
        now = next(each["members"] for each in accounts.list_spaces(db) if each["name"] == name)
    if as_json:
        print_json({"space": name, "members": now, "added": added, "removed": removed})
    else:
        click.echo(f"Members of {name}: {', '.join(now) or 'none'}.")
        _say_added(added)


@space_command.command()
@click.argument("name")
@click.argument("projects", nargs=-1, metavar="[KEY]...")
@click.option("--remove", multiple=True, metavar="KEY", help="Take a project from the space; repeatable.")
@hub_command
def project(database: str, name: str, projects: tuple[str, ...], remove: tuple[str, ...], as_json: bool) -> None:
    """Give projects to a space: the notes that its writers write about them from then on go there.

    Notes from before stay private until their owner shares them, and each machine learns of it with its next sync.
    `global` cannot be given: it is the project of every note that belongs to none. With --remove, later notes do not go
    to the space any more; those that are there stay.

    JSON: {"space", "projects": [KEY], "removed": [KEY]}
    """
    from anamnesis.hub import accounts

    with administration(database) as db:
        space = accounts.find_space(db, name)
        for key in projects:
            accounts.give_project(db, space, key)
        removed = [key for key in remove if accounts.take_project(db, space, key)]
        now = next(each["projects"] for each in accounts.list_spaces(db) if each["name"] == name)
    if as_json:
        print_json({"space": name, "projects": now, "removed": removed})
    else:
        click.echo(f"Projects of {name}: {', '.join(now) or 'none'}.")
        if projects:
            click.echo("New notes of its writers go there; earlier ones stay private until their owners share them.")
        if removed:
            click.echo("Notes that are there stay.")


def _say_added(users: Sequence[str]) -> None:
    for user in users:
        click.echo(f"Added the user {user}, who has no token yet: anamnesis hub token create {user}")


def _put_member(db: Connection, space: Space, name: str, role: str) -> bool:
    """Add a member; whether the user had to be added first."""
    from anamnesis.hub import accounts
    from anamnesis.hub.refusal import NotFound

    try:
        user, is_new = accounts.find_user(db, name), False
    except NotFound:
        user, is_new = accounts.add_user(db, name), True
    accounts.set_member(db, space, user, role)
    return is_new
