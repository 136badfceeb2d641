"""Shared by the commands of the hub: the database, the key, and the libraries that come with the extra."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anamnesis.cli.context import settings
from anamnesis.cli.options import as_json
from anamnesis.cli.output import bare_table, console, on_terminal, print_json, print_lines
from anamnesis.config import HUB_DATABASE, HUB_KEY, HUB_KEY_FILE
from anamnesis.errors import InvalidArgument

if TYPE_CHECKING:
    from anamnesis.hub.database import Connection
    from anamnesis.hub.keys import Key

_LIBRARIES = ("psycopg", "psycopg_pool", "uvicorn", "jwt")
KEY_NAME = "hub.key"
_ADDRESS = "postgresql://user@host/name"


def hub_command(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every command, and a sentence where the hub's libraries are not installed."""

    @functools.wraps(command)
    def run(*arguments: Any, database: str | None, **values: Any) -> Any:
        if not database:
            raise click.UsageError(f"Give --database {_ADDRESS}, or set {HUB_DATABASE}.")
        try:
            return command(*arguments, database=database, **values)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in _LIBRARIES:
                raise
            from anamnesis.onboard.own_package import own_package  # only for this hint

            raise InvalidArgument(
                f"The hub needs {error.name}, which is not installed.",
                f"Install the extra: uv tool install {own_package('hub')}",
            ) from error

    option = click.option(
        "--database",
        envvar=HUB_DATABASE,
        metavar="URL",
        help=f"{_ADDRESS}; also {HUB_DATABASE}.",
    )
    return option(as_json(run))


key_file_option = click.option(
    "--key-file",
    envvar=HUB_KEY_FILE,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=f"The hub's key; else {HUB_KEY}, {HUB_KEY_FILE}, or {KEY_NAME} in ANAMNESIS_HOME.",
)


@contextmanager
def administration(database: str) -> Iterator[Connection]:
    """A transaction of an administrator, committed at the end."""
    from anamnesis.hub.database import administrator

    with administrator(database) as db:
        yield db


def key_place(key_file: Path | None) -> Path:
    return key_file or settings().home / KEY_NAME


def given_key(key_file: Path | None) -> Key | None:
    """The hub's key, if there is one."""
    from anamnesis.hub.keys import read_key

    value = "" if key_file else settings().hub_key
    return read_key(value, key_place(key_file))


def needed_key(key_file: Path | None) -> Key:
    key = given_key(key_file)
    if key is None:
        raise InvalidArgument(
            f"There is no key of a hub in {key_place(key_file)}.",
            f"Set {HUB_KEY} or --key-file as on the machine where `anamnesis hub init` ran.",
        )
    return key


def checked_key(db: Connection, key_file: Path | None) -> Key:
    """The key, if it is the one of the hub in this database."""
    from anamnesis.hub.accounts import check_key

    key = needed_key(key_file)
    check_key(db, key)
    return key


def print_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], *, as_json: bool, key: str) -> None:
    """Rows as JSON under a key, as a table for people, or as lines with tabs."""
    if as_json:
        print_json({key: rows})
    elif on_terminal():
        table = bare_table(*columns)
        for row in rows:
            table.add_row(*(_cell(row[column]) for column in columns))
        console().print(table)
    else:
        print_lines([[_cell(row[column]) for column in columns] for row in rows])


def _cell(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return "" if value is None else str(value)
