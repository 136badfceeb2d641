"""Shared by several commands: opening the store, filters, and note ids as arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from anamnesis.cli.context import settings
from anamnesis.errors import NoteNotFound
from anamnesis.notes import SCOPES, TYPES
from anamnesis.project import Project, check_key, find_project
from anamnesis.store import MemoryStore
from anamnesis.vault import Vault, open_vault

# The command that reconciles pending notes and observations.
RECONCILE = "anamnesis bridge reconcile"

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
adopt_option = click.option(
    "--adopt", is_flag=True, help="Join the remote even if it is not a repository of notes: its files come here too."
)


def open_memory(context: click.Context | None = None, *, only_to_read: bool = False) -> Vault:
    return open_vault(settings(context), only_to_read=only_to_read)


@contextmanager
def open_store(context: click.Context | None = None, *, only_to_read: bool = False) -> Iterator[MemoryStore]:
    """Open the vault, for a command that needs only the notes."""
    with open_memory(context, only_to_read=only_to_read) as vault:
        yield vault.notes


def project_here() -> Project:
    """The project of this folder."""
    return find_project(Path.cwd(), settings().home, settings().user_home)


def _project(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    return project_here().key if value == "." else value


def _new_project(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    return check_key(_project(context, parameter, value) or "")


def project_option(help: str, default: str | None = None) -> Callable[..., Any]:
    """The project to filter by or, with a default, to write to; the latter must be a valid key."""
    return click.option(
        "-p",
        "--project",
        callback=_project if default is None else _new_project,
        default=default,
        help=f"{help} `.` is the project of this folder.",
    )


def filters(command: Callable[..., Any]) -> Callable[..., Any]:
    """The three filter options of lists and searches."""
    scope = click.option("--scope", type=click.Choice(SCOPES), help="Only notes of this scope.")
    type = click.option("-t", "--type", type=click.Choice(TYPES), help="Only notes of this type.")
    project = project_option("Only notes of this project.")
    filtered: Callable[..., Any] = project(type(scope(command)))
    return filtered


def _complete(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    with open_store(context, only_to_read=True) as store:
        notes = store.list(limit=500)
    started = incomplete.upper()
    return [CompletionItem(note.id, help=note.title) for note in notes if note.id.startswith(started)][:30]


def note_id(name: str = "note_id", **given: Any) -> Callable[..., Any]:
    """An argument that takes a note's id, completed by the shell."""
    return click.argument(name, **{"metavar": "ID", "shell_complete": _complete, **given})


def full_id(store: MemoryStore, given: str) -> str:
    """The id that equals `given`, or the only one that starts with it."""
    found = store.ids_starting(given) if given else []
    if given in found or len(found) == 1:
        return given if given in found else found[0]
    if found:
        raise NoteNotFound(f"{given!r} begins several ids: {', '.join(found)}.", "Give more of it.")
    return given


def any_id(store: MemoryStore, given: str) -> str:
    """The id that equals or starts with `given`, also of a note in the trash."""
    resolved = full_id(store, given)
    if not given or store.ids_starting(resolved):
        return resolved
    trashed = {each.id for each in store.trashed() if each.id.upper().startswith(given.upper())}
    return trashed.pop() if len(trashed) == 1 else resolved


def store_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option for the store's folder, for callers that cannot set an environment variable."""
    option = click.option("--home", metavar="FOLDER", help="The store, where it is not ANAMNESIS_HOME or ~/.anamnesis.")
    return option(command)


def hook_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every hook."""
    host = click.option("--host", metavar="NAME", help="The agent, which wants its answer in its own shape.")
    return store_option(host(command))


def words_of(options: Mapping[str, str | None]) -> list[str]:
    """Options as command-line arguments."""
    return [f"--{name}={value}" for name, value in options.items() if value]
