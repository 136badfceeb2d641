"""Codex's trust in our hooks, for `init` and `doctor`. It is given only with the user's consent."""

from __future__ import annotations

from dataclasses import replace

import click

from anamnesis.cli.context import settings
from anamnesis.cli.output import on_terminal
from anamnesis.disk import locked
from anamnesis.onboard import machine
from anamnesis.onboard.agent import Agent
from anamnesis.onboard.codex_hooks import find_untrusted, trust_in
from anamnesis.onboard.ledger import Ledger
from anamnesis.onboard.plan import Plan
from anamnesis.onboard.setup import plan_setup, set_up

_DONE = "Its hooks are trusted now; /hooks in Codex shows them and can revoke the trust."


def trust(agents: list[Agent], done: Plan, *, is_asking: bool, is_agreed: bool) -> None:
    """Make Codex trust the hooks that were set up, if the user agrees. The change is added to `done`.

    `is_agreed`: the user is not asked; one line on stderr announces the change.
    """
    found = find_untrusted(agents, machine.place(settings()))
    if found is None or (found.hooks and not _agrees(found.agent, is_asking, is_agreed)):
        return
    trusting = replace(found.agent, edits=(trust_in(found.config, found.hooks),), instructions=None)
    with locked(settings().home / "onboard.lock"):
        made = set_up(plan_setup([trusting]), Ledger(settings().home))
    _merge(done, made)
    if not made.refusals:
        agents[agents.index(found.agent)] = replace(found.agent, remark=_DONE if found.hooks else "")


def _agrees(agent: Agent, is_asking: bool, is_agreed: bool) -> bool:
    if is_asking:
        question = "Codex runs only trusted hooks. Trust those of anamnesis now, as /hooks in Codex does?"
        return click.confirm(question, default=True)
    if is_agreed:
        click.echo("anamnesis: Codex runs only trusted hooks: trusting those of anamnesis.", err=True)
    elif not on_terminal():  # on a terminal, the remark is drawn with the outcome
        click.echo(f"anamnesis: {agent.remark}", err=True)
    return is_agreed


def _merge(done: Plan, made: Plan) -> None:
    """Add changes to those of the same run; a file that was changed twice counts once."""
    for change in made.changes:
        first = next((each for each in done.changes if each.target == change.target), None)
        if first is None:
            done.changes.append(change)
        else:
            done.changes[done.changes.index(first)] = replace(first, new=change.new)
    done.refusals += made.refusals
