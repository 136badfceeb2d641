"""`anamnesis logout`: removes the login of this machine."""

from __future__ import annotations

import click

from anamnesis.cli.context import settings
from anamnesis.cli.options import as_json
from anamnesis.cli.output import print_json


@click.command()
@as_json
def command(as_json: bool) -> None:
    """Log out of the hub: no more notes are exchanged with it.

    All notes stay on this machine and at the hub, and a later login of the same user resumes where this one ended. The
    token is removed from this machine but stays valid: `anamnesis hub token revoke` revokes it at the hub.

    JSON: {"url", "user"} of the login that ended, or null
    """
    from anamnesis.errors import StoreUnavailable
    from anamnesis.exchange.account import read_account
    from anamnesis.exchange.login import log_out

    try:
        account = read_account(settings().home)
    except StoreUnavailable:
        account = None  # an unreadable file is removed too
    log_out(settings().home)
    if as_json:
        print_json({"url": account.url, "user": account.user} if account else None)
    elif account:
        click.echo(f"Logged out of {account.url}. The notes stay here.")
    else:
        click.echo("This machine was not logged in.")
