"""`anamnesis bridge`: notes and Engram's observations as one memory."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from anamnesis.bridge import as_bridged, find_engram, open_bridged
from anamnesis.bridge.bridged import BridgedStore
from anamnesis.cli.context import settings
from anamnesis.cli.options import as_json
from anamnesis.cli.output import console, on_terminal, print_json, print_lines, progress_bar
from anamnesis.disk import locked
from anamnesis.errors import LockHeld, NoteNotFound, StoreUnavailable


@click.group()
def command() -> None:
    """Look after the bridge between notes and Engram's observations.

    It is on where there is an engram.db: what is written on one side is written on the other in the same moment. What
    another program changed is reconciled by the daemon, by the next write or by `anamnesis bridge reconcile`; commands
    that only read reconcile nothing.
    """


@command.command()
@as_json
def status(as_json: bool) -> None:
    """Show what both sides hold, and what one has not seen of the other.

    Exits with 1 where something is waiting.

    \b
    JSON: {"database", "notes", "observations", "twins", "waiting": {"notes", "observations"}}
    """
    with _opened() as store:
        state = store.bridge.state()
    if as_json:
        print_json(asdict(state))
    elif on_terminal():
        screen = console()
        screen.draw("[bold]{:,} notes[/] ⇄ [bold]{:,} observations[/]", state.notes, state.observations)
        screen.print(f"in {state.database}, {state.twins:,} of them in step", style="dim")
        for what, count in asdict(state.waiting).items():
            if count:
                screen.draw("[yellow]{:,} changed {} are waiting:[/] anamnesis bridge reconcile", count, what)
    else:
        facts = [(name, value) for name, value in asdict(state).items() if name != "waiting"]
        print_lines([*facts, *(("waiting", what, count) for what, count in asdict(state.waiting).items())])
    sys.exit(1 if state.waiting.total else 0)


@command.command()
@click.option("--all", "everything", is_flag=True, help="Look at everything, not only at what was noted as changed.")
@as_json
def reconcile(everything: bool, as_json: bool) -> None:
    """Take over on each side what changed on the other.

    It can be stopped at any moment, and goes on where it was.

    \b
    JSON: {"looked_at", "waiting"}
    """
    try:
        with _opened() as store, locked(store.root / "reconcile.lock", timeout=0.0):
            if everything:
                store.bridge.note_all()
            with progress_bar("Bringing notes and observations together") as progress:
                count = store.bridge.reconcile(progress)
            waiting = store.bridge.waiting().total
    except LockHeld as error:
        raise StoreUnavailable("Another process is doing that.", "`anamnesis bridge status` shows how far.") from error
    if as_json:
        print_json({"looked_at": count, "waiting": waiting})
    else:
        click.echo(f"Looked at {count:,} changes; {waiting:,} are left." if count else "Nothing had changed.")
    sys.exit(1 if waiting else 0)


def _opened() -> BridgedStore:
    store = open_bridged(settings(), find_engram(settings()))
    bridged = as_bridged(store)
    if bridged is None:
        store.close()
        raise NoteNotFound(
            "There is no bridge: no engram.db was found, it cannot be used, or the setting `bridge` is off.",
            "`anamnesis doctor` says more.",
        )
    bridged.refresh()  # also what was edited in place
    return bridged
