"""`anamnesis hub token` and `device`: how machines and programs log in."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from anamnesis.age import UNITS
from anamnesis.cli.hub_options import administration, checked_key, hub_command, key_file_option, print_table
from anamnesis.cli.output import print_json
from anamnesis.plain import plain

if TYPE_CHECKING:
    from anamnesis.hub.database import Connection

_SCOPES = ("read", "write", "admin")
_DURATION = re.compile(r"([0-9]{1,5}) ?([a-z]{1,3})")


def _expiry(_: click.Context, __: click.Parameter, text: str | None) -> datetime | None:
    """When a token expires: a date, or a duration from now."""
    if text is None:
        return None
    try:
        if duration := _DURATION.fullmatch(text.strip()):
            return datetime.now(UTC) + timedelta(seconds=int(duration[1]) * dict(UNITS)[duration[2]])
        moment = datetime.fromisoformat(text.strip()).astimezone(UTC)
    except (ValueError, KeyError, OverflowError) as error:
        raise click.BadParameter(f"{text!r} is neither a date (2027-01-31) nor a time from now (90d, 1y).") from error
    if moment <= datetime.now(UTC):
        raise click.BadParameter(f"{text!r} has passed.")
    return moment


@click.group(name="token")
def token_command() -> None:
    """Create tokens, list them, and revoke them.

    A token stands for its user. Only its hash is kept, so it is shown once.
    """


@token_command.command()
@click.argument("user")
@click.option("--name", default="", help="What it is for, to recognise it in the list.")
@click.option(
    "--scope",
    type=click.Choice(_SCOPES),
    default="write",
    show_default=True,
    help="read: searches and pulls; write: also changes notes; admin: also members, projects and erasing, by role.",
)
@click.option("--expires", callback=_expiry, metavar="WHEN", help="A date, or a time from now such as 90d; else never.")
@key_file_option
@hub_command
def create(
    database: str,
    user: str,
    name: str,
    scope: str,
    expires: datetime | None,
    key_file: Path | None,
    as_json: bool,
) -> None:
    """Create a token for a user, and print it, once.

    JSON: {"id", "user", "token", "scopes", "expires"}
    """
    from anamnesis.hub import accounts
    from anamnesis.hub.tenancy import implied

    with administration(database) as db:
        key = checked_key(db, key_file)
        found = accounts.find_user(db, user)
        number, token = accounts.create_token(db, key, found, name, implied(scope), expires)
    if as_json:
        end = expires.isoformat(timespec="seconds") if expires else None
        print_json({"id": number, "user": user, "token": token, "scopes": implied(scope), "expires": end})
    else:
        click.echo(token)


@token_command.command(name="list")
@click.argument("user", required=False)
@hub_command
def list_(database: str, user: str | None, as_json: bool) -> None:
    """List the tokens, or those of a user: not the tokens themselves, which are not kept.

    The parent of a machine's token is the one by which its login was confirmed.

    JSON: {"tokens": [{"id", "user", "name", "scopes", "created", "expires", "used", "revoked", "parent"}]}
    """
    from anamnesis.hub import accounts

    with administration(database) as db:
        tokens = accounts.list_tokens(db, accounts.find_user(db, user) if user else None)
    columns = ("id", "user", "name", "scopes", "created", "expires", "used", "revoked", "parent")
    print_table(tokens, columns, as_json=as_json, key="tokens")


@token_command.command()
@click.argument("tokens", nargs=-1, metavar="[ID|TOKEN]...")
@click.option("--user", help="All tokens of this user.")
@click.option("--with-descendants", is_flag=True, help="Also those of the machines that they let in.")
@key_file_option
@hub_command
def revoke(
    database: str,
    tokens: tuple[str, ...],
    user: str | None,
    with_descendants: bool,
    key_file: Path | None,
    as_json: bool,
) -> None:
    """Revoke tokens, at once: by their numbers, or a token that was found somewhere, as it is.

    JSON: {"revoked": [ID], "descendants": [ID]}, the latter those that still hold
    """
    from anamnesis.hub import accounts

    if not tokens and not user:
        raise click.UsageError("Give the number of a token, as `anamnesis hub token list` shows it, or --user.")
    with administration(database) as db:
        owned = accounts.list_tokens(db, accounts.find_user(db, user)) if user else []
        wanted = [*(_number(db, each, key_file) for each in tokens), *(each["id"] for each in owned)]
        known = accounts.list_tokens(db)
        below = {each["id"]: each["name"] for number in wanted for each in accounts.let_in_by(known, number)}
        if with_descendants:
            wanted += [*below]
        revoked = [number for number in dict.fromkeys(wanted) if accounts.revoke_token(db, number)]
    left = {number: name for number, name in below.items() if number not in wanted}
    if as_json:
        print_json({"revoked": revoked, "descendants": [*left]})
        return
    click.echo(f"Revoked: {', '.join(map(str, revoked)) or 'none, they had ended already'}.")
    if left:
        machines = ", ".join(f"{number} ({plain(name)})" for number, name in left.items())
        click.echo(f"Machines that were let in by them keep their tokens: {machines}.", err=True)
        click.echo(f"Revoke those too: anamnesis hub token revoke {' '.join(map(str, left))}", err=True)


def _number(db: Connection, text: str, key_file: Path | None) -> int:
    """The number of a token that is given by it, or as it is."""
    from anamnesis.hub import accounts

    if text.isdecimal() and len(text) < 19:
        return int(text)
    return accounts.find_token(db, checked_key(db, key_file), text.strip())


@click.group(name="device")
def device_command() -> None:
    """Confirm logins of machines that have no token yet."""


@device_command.command()
@click.argument("code")
@click.option("--user", required=True, help="Whose machine it is.")
@hub_command
def approve(database: str, code: str, user: str, as_json: bool) -> None:
    """Confirm the code that a machine shows when it logs in: it becomes one of the user's.

    JSON: {"machine", "user"}
    """
    from anamnesis.hub import accounts, audit

    with administration(database) as db:
        accounts.find_user(db, user)
        db.execute("SELECT anamnesis.enter_user(%(user)s, '{read,write}')", {"user": user})
        machine = accounts.approve_device(db, code, user, audit.ADMINISTRATOR)
    if as_json:
        print_json({"machine": machine, "user": user})
    else:
        click.echo(f"{machine} is logged in as {user}.")
