"""Prints the planned and the applied changes to other programs' files, and the contents of Engram's database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from anamnesis.cli.output import draw_diff, on_terminal
from anamnesis.onboard.holdings import Holdings
from anamnesis.onboard.plan import Change, Plan, Refusal, diff
from anamnesis.plural import counted


def action(change: Change) -> str:
    """The verb for what a change does to its file."""
    return "remove" if change.new is None else "create" if change.old is None else "change"


def print_diffs(plan: Plan) -> None:
    """Print the plan as a diff, coloured on a terminal."""
    for change in plan.changes:
        draw_diff(diff(change))
    if on_terminal():
        count = len(plan.changes)
        click.echo(counted(count, "file") if count else "No file", nl=False)
        click.echo(" would change." + (" Without --print, the same command changes them." if count else ""))


def print_refusals(plan: Plan) -> None:
    """Print each file that is left unchanged, why, and the lines to add by hand."""
    for refusal in plan.refusals:
        click.echo(f"Left alone: {refusal.file}: {refusal.reason}", err=True)
        if refusal.by_hand:
            click.echo("Add these lines yourself:", err=True)
            click.echo("".join(f"    {line}\n" for line in refusal.by_hand.splitlines()), err=True, nl=False)


def change_as_dict(change: Change) -> dict[str, Any]:
    """A change as a JSON object."""
    return {"file": str(change.file), "action": action(change), "agents": list(change.agents), "diff": diff(change)}


def refusal_as_dict(refusal: Refusal) -> dict[str, Any]:
    """A refusal as a JSON object."""
    agents = list(refusal.agents)
    return {"file": str(refusal.file), "agents": agents, "reason": refusal.reason, "by_hand": refusal.by_hand}


def describe_holdings(database: Path, holdings: Holdings) -> str:
    """The contents of Engram's database, in a sentence."""
    counts = (
        counted(holdings.observations, "observation"),
        counted(holdings.sessions, "session"),
        counted(holdings.projects, "project"),
    )
    notes = "is a note" if holdings.with_notes == 1 else "are notes"
    return f"{database}: {', '.join(counts)}; {holdings.with_notes} of the observations {notes} already."
