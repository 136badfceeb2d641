"""Options and arguments that several commands share, and opening the store."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from anamnesis.age import UNITS
from anamnesis.cli.completing import complete_notes, complete_projects, complete_tags
from anamnesis.cli.context import settings
from anamnesis.notes import SCOPES, SOURCES, TYPES
from anamnesis.notes.spaces import OWN, PERSONAL, check_space
from anamnesis.project import Project, check_key, find_project
from anamnesis.store import MemoryStore
from anamnesis.store.queries import ORDERS
from anamnesis.vault import Vault, open_vault

# The command that reconciles pending notes and observations.
RECONCILE = "anamnesis bridge reconcile"
_AGE = re.compile(r"([0-9]{1,6}) ?([a-z]{1,3})")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
adopt_option = click.option(
    "--adopt",
    is_flag=True,
    help="Join the remote even if it is not a repository of notes: its files are copied here too.",
)


def open_memory(*, only_to_read: bool = False) -> Vault:
    return open_vault(settings(), only_to_read=only_to_read)


@contextmanager
def open_store(*, only_to_read: bool = False) -> Iterator[MemoryStore]:
    """Open the vault, for a command that needs only the notes."""
    with open_memory(only_to_read=only_to_read) as vault:
        yield vault.notes


def project_here() -> Project:
    """The project of this folder."""
    return find_project(Path.cwd(), settings().home, settings().user_home)


def _project(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    return project_here().key if value == "." else value


def _new_project(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    return None if value is None else check_key(_project(context, parameter, value) or "")


def project_option(help: str, default: str | None = None, *, is_new: bool = False) -> Callable[..., Any]:
    """The project to filter by or, if `is_new`, to write to; the latter must be a valid key."""
    return click.option(
        "-p",
        "--project",
        callback=_new_project if is_new else _project,
        default=default,
        shell_complete=complete_projects,
        help=f"{help} `.` is the project of this folder.",
    )


def _space(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """A space; `~` is the user's own, whatever the name of the user."""
    if value is None:
        return None
    return OWN if value == PERSONAL else check_space(value)


def _notes_of(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """The ids of the notes of a space."""
    if value is None:
        return None
    from anamnesis.exchange.standing import notes_of

    return notes_of(settings().home, value)


def space_option(help: str) -> Callable[..., Any]:
    return click.option("--space", metavar="NAME", callback=_space, help=help)


def _since(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    """The first moment; of a day, its beginning."""
    return _moment(text, timedelta(0)) if text else None


def _until(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    """The last moment; of a day, its end."""
    return _moment(text, timedelta(days=1)) if text else None


def _moment(text: str, part_of_day: timedelta) -> str:
    """A moment in the form of notes. Days and times without a zone are local ones."""
    plain, now = text.strip().lower(), datetime.now().astimezone()
    days = {"today": now, "yesterday": now - timedelta(days=1)}
    if plain in days:
        plain = days[plain].date().isoformat()
    try:
        age = _AGE.fullmatch(plain)
        if age:
            found = now - timedelta(seconds=int(age[1]) * dict(UNITS)[age[2]])
        else:
            found = datetime.fromisoformat(plain.upper())
            found += part_of_day if _DAY.fullmatch(plain) else timedelta(0)
        return found.astimezone(UTC).isoformat(timespec="seconds")
    except (ValueError, KeyError, OverflowError, OSError) as error:
        raise click.BadParameter(
            f"{text!r} is not a moment. Give a date (2026-11-16), a time (2026-11-16T09:30) or an age"
            " (30min, 12h, 7d, 2w, 6mo, 1y)."
        ) from error


def filters(command: Callable[..., Any]) -> Callable[..., Any]:
    """The filter options of lists and searches, named as the store's filters."""
    options = (
        project_option("Only notes of this project."),
        click.option("-t", "--type", type=click.Choice(TYPES), help="Only notes of this type."),
        click.option("--scope", type=click.Choice(SCOPES), help="Only notes of this scope."),
        click.option(
            "--tag",
            "tags",
            multiple=True,
            shell_complete=complete_tags,
            help="Only notes with this tag; may be given more than once.",
        ),
        click.option("--source", type=click.Choice(SOURCES), help="Only notes of this source."),
        click.option(
            "--space",
            "ids",
            metavar="NAME",
            callback=_notes_of,
            help="Only notes of this space of the hub, as the last sync left it; `~` is your own.",
        ),
    )
    command = period_options("Only notes changed", "Only notes last changed")(command)
    for option in reversed(options):
        command = option(command)
    return command


def period_options(since: str, until: str = "") -> Callable[..., Any]:
    """The options for a period; `since` and `until` begin their help."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        start = f"{since} since a date, or an age such as 7d."
        end = f"{until or since} up to then."
        command = click.option("--until", metavar="MOMENT", callback=_until, help=end)(command)
        return click.option("--since", metavar="MOMENT", callback=_since, help=start)(command)

    return decorate


def sort_option(*first: str) -> Callable[..., Any]:
    """The order of the result; the default is the first."""
    orders = [*first, *ORDERS]
    return click.option(
        "--sort", "order", type=click.Choice(orders), default=orders[0], show_default=True, help="The order."
    )


long_option = click.option("--long", "is_long", is_flag=True, help="On a terminal, show more of each note.")
yes_option = click.option("-y", "--yes", is_flag=True, help="Ask nothing.")


def note_id(name: str = "note_id", **given: Any) -> Callable[..., Any]:
    """An argument that names a note (see `naming`), completed by the shell."""
    return click.argument(name, **{"metavar": "ID", "shell_complete": complete_notes, **given})


def store_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option for the store's folder, for callers that cannot set an environment variable."""
    option = click.option("--home", metavar="FOLDER", help="The store, if it is not ANAMNESIS_HOME or ~/.anamnesis.")
    return option(command)


def hook_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every hook."""
    host = click.option("--host", metavar="NAME", help="The agent, which determines the form of the answer.")
    return store_option(host(command))


def as_arguments(options: Mapping[str, str | None]) -> list[str]:
    """Options as command-line arguments."""
    return [f"--{name}={value}" for name, value in options.items() if value]
