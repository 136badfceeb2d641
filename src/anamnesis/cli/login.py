"""`anamnesis login`: logs this machine in to a hub."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from anamnesis.cli.context import settings
from anamnesis.cli.options import as_json
from anamnesis.cli.output import print_json
from anamnesis.errors import InvalidArgument
from anamnesis.plural import counted, listed

if TYPE_CHECKING:
    from anamnesis.exchange.account import Account


@click.command()
@click.argument("address")
@click.option("--token-stdin", is_flag=True, help="Read the token from standard input.")
@click.option("--insecure-http", is_flag=True, help="Allow http to another machine: the network can read all of it.")
@click.option("--keep-apart", is_flag=True, help="Log in as another user than before: no note that is here is sent.")
@as_json
def command(address: str, token_stdin: bool, insecure_http: bool, keep_apart: bool, as_json: bool) -> None:
    """Log in to the hub of a team at ADDRESS; each sync then exchanges notes with it.

    Without a token, the command shows a code and waits until it is confirmed in a browser. The token is stored in
    hub.json in the home, which only you can read. Nothing is sent before the next sync: notes without a space go to
    your own space, which nobody else can read, and machine-local notes stay here.

    A home is of one user of one hub. A login of another user, or at another hub, asks first, and in a pipe needs
    --keep-apart: the notes that are here stay with the former login, which sends them when it is used again, and what
    you write from then on is yours. `anamnesis move ID --space '~'` sends one of them as yours. A home of its own
    (ANAMNESIS_HOME) keeps both entirely apart.

    JSON: {"url", "user", "hub", "spaces": {NAME: ROLE}, "kept_apart": how many notes stay with the former login}
    """
    from anamnesis.exchange.account import parse_address
    from anamnesis.exchange.login import Code, ask_for_token, log_in, refuse_another
    from anamnesis.sync.remote import without_password

    def show(code: Code) -> None:
        click.echo(f"Open {code.address} and enter the code {code.user_code} within {code.minutes} minutes.", err=True)

    def ask(former: Account, account: Account) -> None:
        if keep_apart:
            return
        if not sys.stdin.isatty() or as_json:
            refuse_another(former, account)
        question = f"This home exchanges its notes as {former.user} with {former.url}. Log in as {account.user}"
        click.confirm(f"{question} at {account.url}, and send none of the notes that are here?", abort=True, err=True)

    parsed = parse_address(address, insecure=insecure_http)
    machine, proxies = settings().machine_id, settings().proxies
    token = _read_token() if token_stdin else ask_for_token(parsed, machine, show, proxies=proxies)
    done = log_in(settings().home, parsed, token, proxies, ask)
    if as_json:
        facts = done.account._asdict() | {"spaces": done.spaces, "kept_apart": done.apart}
        print_json({name: value for name, value in facts.items() if name != "token"})
        return
    spaces = listed(f"{name} ({role})" for name, role in sorted(done.spaces.items()))
    click.echo(f"Logged in to {done.account.url} as {done.account.user}, with {spaces}.")
    if done.former:
        kept = counted(done.apart, "note that is here stays", "notes that are here stay")
        click.echo(f"{kept} with the login of {done.former.user} at {done.former.url}, and none is sent.")
        if remote := settings().remote:
            click.echo(f"git stops here: it would carry the notes of both users to {without_password(remote)}.")
    click.echo("Next: anamnesis sync", err=True)


def _read_token() -> str:
    if sys.stdin.isatty():
        return str(click.prompt("Token", hide_input=True, err=True))
    token = sys.stdin.readline()
    if not token.strip():
        raise InvalidArgument("Standard input has no token.", "Pipe it: anamnesis login ADDRESS --token-stdin < FILE")
    return token
