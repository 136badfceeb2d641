"""`anamnesis hub serve`: the server, in this process."""

from __future__ import annotations

import os
from pathlib import Path

import click

from anamnesis.cli.hub_options import checked_key, hub_command, key_file_option
from anamnesis.cli.output import print_json
from anamnesis.errors import StoreUnavailable


@click.command(name="serve")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8437, show_default=True, help="The port; 0 takes any free one."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address; beyond loopback TLS is needed.")
@click.option("--tls-certificate", type=click.Path(path_type=Path), metavar="FILE", help="A certificate chain, PEM.")
@click.option("--tls-key", type=click.Path(path_type=Path), metavar="FILE", help="Its private key, PEM.")
@click.option("--behind-proxy", is_flag=True, help="A proxy speaks TLS, and only it reaches this address.")
@click.option("--url", default="", metavar="URL", help="The address by which clients know the hub.")
@click.option("--oauth-issuer", default="", metavar="URL", help="Also let MCP clients in by this issuer's tokens.")
@click.option("--oauth-claim", default="sub", show_default=True, help="The claim of its tokens that is a user's name.")
@click.option("--connections", type=click.IntRange(1, 200), default=10, show_default=True, help="To the database.")
@click.option("--rate", type=click.IntRange(1), default=50, show_default=True, help="Requests a second of one token.")
@key_file_option
@hub_command
def serve_command(
    database: str,
    port: int,
    host: str,
    tls_certificate: Path | None,
    tls_key: Path | None,
    behind_proxy: bool,
    url: str,
    oauth_issuer: str,
    oauth_claim: str,
    connections: int,
    rate: int,
    key_file: Path | None,
    as_json: bool,
) -> None:
    """Serve the hub over HTTP until a signal; requests in progress are finished first.

    Any number of copies may serve one database. GET /healthz says whether the process lives, /readyz whether it can
    work, /metrics what it does, in the text format of Prometheus.

    Agents reach it at /mcp, people at /ui. With --oauth-issuer, MCP clients may log in there (OAuth 2.1): the hub
    accepts its access tokens for the resource URL/mcp with the scopes anamnesis:read, anamnesis:write or
    anamnesis:admin.

    JSON: {"url", "pid"}, once it listens.
    """
    from anamnesis.hub.database import Database, as_server
    from anamnesis.hub.logins import may_change_the_schema
    from anamnesis.hub.migrations import pending
    from anamnesis.hub.oauth import Issuer
    from anamnesis.hub.routes import Hub
    from anamnesis.hub.serving import Address, serve

    address = Address(host, port, tls_certificate, tls_key, behind_proxy)
    address.check()
    issuer = Issuer(oauth_issuer, url, oauth_claim) if oauth_issuer else None

    def announce(listening: str) -> None:
        if as_json:
            print_json({"url": listening, "pid": os.getpid()})
        else:
            click.echo(f"{listening} (process id {os.getpid()})")

    with as_server(database) as db:
        if missing := pending(db):
            raise StoreUnavailable(
                f"The database lacks {missing[0].number:03} {missing[0].name}.",
                "Run: anamnesis hub init, or after an upgrade: anamnesis hub migrate",
            )
        key = checked_key(db, key_file)
        if may_change_the_schema(db):
            hint = "Give the server a login of its own: anamnesis hub init --server URL"
            click.echo(f"anamnesis: The server's login may change the hub's schema. {hint}", err=True)
    with Database(database, connections) as pool:
        serve(Hub(pool, key, url.rstrip("/"), rate, issuer), address, announce)
