"""`anamnesis hub init`, `migrate` and `doctor`: the database of a hub."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from anamnesis.cli.hub_options import (
    administration,
    checked_key,
    given_key,
    hub_command,
    key_file_option,
    key_place,
    needed_key,
)
from anamnesis.cli.output import on_terminal, print_json, print_lines
from anamnesis.config import HUB_KEY, HUB_SERVER
from anamnesis.doctor.finding import Finding
from anamnesis.errors import AnamnesisError, StoreUnavailable
from anamnesis.plural import counted

if TYPE_CHECKING:
    from anamnesis.hub.database import Connection


@click.command(name="init")
@click.option(
    "--server",
    envvar=HUB_SERVER,
    metavar="URL",
    help=f"Also make the login of this address, which the server will use, or set its password; also {HUB_SERVER}.",
)
@key_file_option
@hub_command
def init_command(database: str, server: str | None, key_file: Path | None, as_json: bool) -> None:
    """Make the hub's schema in a database, the role of its server, and the key that tokens are hashed with.

    May be run again: it keeps what exists. The user of the database must be allowed to create a schema and, the first
    time on a PostgreSQL server, the role anamnesis_hub. Every copy of the server needs the same key, and no token
    works without it: keep it, apart from the database and its backups.

    Give the server an address with a login of its own: it can read and write only what the token of a request may.
    The login of this command owns everything; only the commands of an administrator need it.

    \b
    In a pipe: the hub's id, and the file of the key.
    JSON: {"hub", "key_file", "steps": [STEP], "login": the server's, or null}
    """
    from anamnesis.hub import accounts
    from anamnesis.hub.keys import make_key
    from anamnesis.hub.logins import make_login
    from anamnesis.hub.migrations import migrate
    from anamnesis.hub.passages import prepare

    with administration(database) as db:
        steps = migrate(db)
        prepare(db)
        key = given_key(key_file)
        if key is None:
            is_new = db.execute("SELECT FROM anamnesis.hub").fetchone() is None
            key = make_key(key_place(key_file)) if is_new else needed_key(key_file)
        hub = accounts.make_hub(db, key)
        login = make_login(db, server) if server else None
    place = "" if _from_variable(key_file) else str(key_place(key_file))
    if as_json:
        made = [f"{step.number:03} {step.name}" for step in steps]
        print_json({"hub": hub, "key_file": place, "steps": made, "login": login})
    elif on_terminal():
        click.echo(f"The hub is ready. Its key is in {place or HUB_KEY}: keep it apart from the database.")
        if login:
            click.echo(f"The server's login is {login}.")
        click.echo("Next: anamnesis hub user add NAME")
    else:
        print_lines([(hub, place)])


def _from_variable(key_file: Path | None) -> bool:
    from anamnesis.cli.context import settings

    return key_file is None and bool(settings().hub_key)


@click.command(name="migrate")
@hub_command
def migrate_command(database: str, as_json: bool) -> None:
    """Bring the database to this version of the program: all steps or none. Only a backup restores the earlier schema.

    Running servers of the previous version keep working, unless the notes of a release say otherwise.

    \b
    In a pipe: the steps that were made, one a line.
    JSON: {"steps": [STEP]}
    """
    from anamnesis.hub.migrations import applied, migrate
    from anamnesis.hub.passages import prepare

    with administration(database) as db:
        if not applied(db):
            raise StoreUnavailable("The database has no hub yet.", "Run: anamnesis hub init")
        steps = [f"{step.number:03} {step.name}" for step in migrate(db)]
        prepare(db)  # pgvector may have been installed since
    if as_json:
        print_json({"steps": steps})
    elif on_terminal():
        click.echo(f"Made {counted(len(steps), 'step')}." if steps else "The database is up to date.")
    else:
        print_lines([(step,) for step in steps])


def _faults_of_key(db: Connection, key_file: Path | None) -> Iterator[Finding]:
    try:
        checked_key(db, key_file)
    except AnamnesisError as error:
        yield Finding("key", error.message, error.hint)


@click.command(name="doctor")
@key_file_option
@hub_command
def doctor_command(database: str, key_file: Path | None, as_json: bool) -> None:
    """Check the database, its protection, the key and the counts; name each fault and its fix. Exits with 1 if any.

    \b
    In a pipe: subject, fault, fix, separated by tabs.
    JSON: {"faults": [{"subject", "fault", "fix"}]}
    """
    from anamnesis.hub.doctor import examine

    with administration(database) as db:
        faults = examine(db) or [*_faults_of_key(db, key_file)]
    if as_json:
        shown = [{"subject": each.subject, "fault": each.fault, "fix": each.fix} for each in faults]
        print_json({"faults": shown})
    elif on_terminal() and not faults:
        click.echo("The database, its protection and the key are in order.")
    else:
        print_lines([(each.subject, each.fault, each.fix) for each in faults])
    sys.exit(1 if faults else 0)
