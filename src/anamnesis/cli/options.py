"""What several commands share: the store they open, their filters and the ids they take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from anamnesis.bridge import FAILURES, find_engram, open_memory
from anamnesis.cli.context import settings
from anamnesis.errors import NoteNotFound
from anamnesis.notes import SCOPES, TYPES
from anamnesis.project import Project, check_key, find_project
from anamnesis.store import MemoryStore

if TYPE_CHECKING:
    from anamnesis.bridge.upkeep import State

# What makes notes of the observations that wait, and observations of the notes.
RECONCILE = "anamnesis bridge reconcile"

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def open_store(context: click.Context | None = None, *, only_to_read: bool = False) -> MemoryStore:
    return open_memory(settings(context), only_to_read=only_to_read)


def project_here() -> Project:
    """The project of this folder."""
    return find_project(Path.cwd(), settings().home, settings().user_home)


def bridge_state(store: MemoryStore) -> State | None:
    """The state of the bridge; None where there is none, or where `anamnesis doctor` says why it cannot be read."""
    path = find_engram(settings())
    if path is None:
        return None
    from anamnesis.bridge.upkeep import read_state

    try:
        return read_state(path, store)
    except FAILURES:
        return None


def _project(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    return project_here().key if value == "." else value


def _new_project(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    return check_key(_project(context, parameter, value) or "")


def project_option(help: str, default: str | None = None) -> Callable[..., Any]:
    """The project to look for or, with a default, to write to: what is written has a key that is one."""
    return click.option(
        "-p",
        "--project",
        callback=_project if default is None else _new_project,
        default=default,
        help=f"{help} `.` is the project of this folder.",
    )


def filters(command: Callable[..., Any]) -> Callable[..., Any]:
    """The three filters that lists and searches have."""
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
    """The id that `given` is, or the only one that it begins."""
    found = store.ids_starting(given) if given else []
    if given in found or len(found) == 1:
        return given if given in found else found[0]
    if found:
        raise NoteNotFound(f"{given!r} begins several ids: {', '.join(found)}.", "Give more of it.")
    return given


def any_id(store: MemoryStore, given: str) -> str:
    """The id that `given` is or begins, also of a note in the trash."""
    resolved = full_id(store, given)
    if not given or store.ids_starting(resolved):
        return resolved
    trashed = {each.id for each in store.trashed() if each.id.upper().startswith(given.upper())}
    return trashed.pop() if len(trashed) == 1 else resolved


def store_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Where the store is, for callers that cannot set a variable."""
    option = click.option("--home", metavar="FOLDER", help="The store, where it is not ANAMNESIS_HOME or ~/.anamnesis.")
    return option(command)


def hook_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What every hook takes."""
    host = click.option("--host", metavar="NAME", help="The agent, which wants its answer in its own shape.")
    return store_option(host(command))


def words_of(options: Mapping[str, str | None]) -> list[str]:
    """Options as they are given on a command line."""
    return [f"--{name}={value}" for name, value in options.items() if value]
