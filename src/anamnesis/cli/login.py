"""`anamnesis login`: logs this machine in to a hub."""

from __future__ import annotations

import sys

import click

from anamnesis.cli.context import settings
from anamnesis.cli.options import as_json
from anamnesis.cli.output import print_json
from anamnesis.errors import InvalidArgument
from anamnesis.plural import listed


@click.command()
@click.argument("address")
@click.option("--token-stdin", is_flag=True, help="Read the token from standard input.")
@click.option("--insecure-http", is_flag=True, help="Allow http to another machine: the network can read all of it.")
@as_json
def command(address: str, token_stdin: bool, insecure_http: bool, as_json: bool) -> None:
    """Log in to the hub of a team at ADDRESS; each sync then exchanges notes with it.

    Without a token, the command shows a code and waits until it is confirmed in a browser. The token is stored in
    hub.json in the home, which only you can read. Nothing is sent before the next sync: notes without a space go to
    your own space, which nobody else can read, and machine-local notes stay here. A login to another hub starts a new
    exchange, and notes of shared spaces of the first hub are not sent to it.

    JSON: {"url", "user", "hub", "spaces": {NAME: ROLE}}
    """
    from anamnesis.exchange.account import parse_address
    from anamnesis.exchange.login import Code, ask_for_token, log_in

    def show(code: Code) -> None:
        click.echo(f"Open {code.address} and enter the code {code.user_code} within {code.minutes} minutes.", err=True)

    parsed = parse_address(address, insecure=insecure_http)
    machine, proxies = settings().machine_id, settings().proxies
    token = _read_token() if token_stdin else ask_for_token(parsed, machine, show, proxies=proxies)
    done = log_in(settings().home, parsed, token, proxies)
    if as_json:
        facts = done.account._asdict() | {"spaces": done.spaces}
        print_json({name: value for name, value in facts.items() if name != "token"})
        return
    spaces = listed(f"{name} ({role})" for name, role in sorted(done.spaces.items()))
    click.echo(f"Logged in to {done.account.url} as {done.account.user}, with {spaces}.")
    click.echo("Next: anamnesis sync", err=True)


def _read_token() -> str:
    if sys.stdin.isatty():
        return str(click.prompt("Token", hide_input=True, err=True))
    token = sys.stdin.readline()
    if not token.strip():
        raise InvalidArgument("Standard input has no token.", "Pipe it: anamnesis login ADDRESS --token-stdin < FILE")
    return token
