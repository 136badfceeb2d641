"""`anamnesis bridge`: shows the state of the bridge between notes and observations, and reconciles them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

import click

from anamnesis.bridge.bridge import Bridge
from anamnesis.cli.context import settings
from anamnesis.cli.options import as_json
from anamnesis.cli.output import console, on_terminal, print_json, print_lines, progress_bar
from anamnesis.disk import locked
from anamnesis.errors import LockHeld, NoteNotFound, StoreUnavailable
from anamnesis.plural import counted
from anamnesis.store import MemoryStore
from anamnesis.vault import open_vault


@click.group()
def command() -> None:
    """Show and reconcile the bridge between notes and Engram's observations.

    The bridge is on if there is an engram.db: a write on one side is written to the other side at once. Changes by
    other programs are reconciled by the daemon, by the next write or by `anamnesis bridge reconcile`; commands that
    only read do not reconcile.
    """


@command.command()
@as_json
def status(as_json: bool) -> None:
    """Count the notes, the observations and the changes that wait to be reconciled.

    Exits with 1 if changes are waiting.

    \b
    JSON: {"database", "notes", "observations", "twins", "waiting": {"notes", "observations"}}
    """
    with _opened() as (_, bridge):
        state = bridge.state()
    if as_json:
        print_json(asdict(state))
    elif on_terminal():
        screen = console()
        notes, observations = counted(state.notes, "note"), counted(state.observations, "observation")
        screen.draw("[bold]{}[/] ⇄ [bold]{}[/]", notes, observations)
        screen.print(f"in {state.database}, {state.twins:,} of them in step", style="dim")
        for what, count in asdict(state.waiting).items():
            if count:
                changed = counted(count, f"changed {what.removesuffix('s')} is", f"changed {what} are")
                screen.draw("[yellow]{} waiting:[/] anamnesis bridge reconcile", changed)
    else:
        facts = [(name, value) for name, value in asdict(state).items() if name != "waiting"]
        print_lines([*facts, *(("waiting", what, count) for what, count in asdict(state.waiting).items())])
    sys.exit(1 if state.waiting.total else 0)


@command.command()
@click.option("--all", "everything", is_flag=True, help="Compare everything, not only recorded changes.")
@as_json
def reconcile(everything: bool, as_json: bool) -> None:
    """Reconcile what changed in notes and in observations.

    It can be stopped at any time; the next run continues.

    \b
    JSON: {"compared", "waiting"}
    """
    try:
        with _opened() as (notes, bridge), locked(notes.root / "reconcile.lock", timeout=0.0):
            if everything:
                bridge.mark_all_pending()
            with progress_bar("Reconciling notes and observations") as progress:
                count = bridge.reconcile(progress)
            bridge.write_strengths(add=settings().engram_strength)
            waiting = bridge.waiting().total
    except LockHeld as error:
        raise StoreUnavailable(
            "Another process is reconciling.", "`anamnesis bridge status` shows what is left."
        ) from error
    if as_json:
        print_json({"compared": count, "waiting": waiting})
    else:
        left = counted(waiting, "is", "are")
        click.echo(f"Compared {counted(count, 'change')}; {left} left." if count else "Nothing had changed.")
    sys.exit(1 if waiting else 0)


@contextmanager
def _opened() -> Iterator[tuple[MemoryStore, Bridge]]:
    with open_vault(settings(), pending=True) as vault:
        if vault.bridge is None:
            raise NoteNotFound(
                "There is no bridge: no engram.db was found, it cannot be used, or the setting `bridge` is off.",
                "`anamnesis doctor` says more.",
            )
        vault.notes.refresh()  # also indexes files edited in place
        yield vault.notes, vault.bridge
