"""`anamnesis doctor`: lists faults with their fixes, and applies them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial

import click

from anamnesis.cli import machine
from anamnesis.cli.codex_trust import find_untrusted
from anamnesis.cli.context import settings
from anamnesis.cli.options import as_json
from anamnesis.cli.output import console, on_terminal, print_json, print_lines
from anamnesis.cli.plans import print_refusals
from anamnesis.disk import locked
from anamnesis.doctor import Finding, examine, repair
from anamnesis.onboard.agent import Agent
from anamnesis.onboard.engram_installation import NAME as ENGRAM
from anamnesis.onboard.inspection import inspect
from anamnesis.onboard.ledger import Ledger
from anamnesis.onboard.plan import Change, Plan
from anamnesis.onboard.program import Program
from anamnesis.onboard.setup import set_up

# A fixed file may be a pending change for the bridge, which the second round reconciles.
_ROUNDS = 2


@click.command()
@click.option("--fix", is_flag=True, help="Repair what can be repaired without losing anything.")
@as_json
def command(fix: bool, as_json: bool) -> None:
    """Check files, index, configuration, and what `init` wrote for agents; name each fault with its fix.

    An agent's file has a fault if it is missing, cannot be read, lacks an entry of ours, or starts a program that does
    not run. Exits with 1 where a fault remains.

    \b
    In a pipe: subject, fault, fix, separated by tabs.
    JSON: {"fixed": [FAULT], "faults": [FAULT]}, a FAULT being
          {"subject", "fault", "fix", "fixable"}
    """
    faults = _examine()
    fixed: list[Finding] = []
    for _ in range(_ROUNDS if fix else 0):
        if newly := repair([each for each in faults if each not in fixed]):
            fixed += newly
            faults = _examine()
    fixed = [each for each in fixed if each not in faults]
    if as_json:
        print_json({"fixed": [_shown(each) for each in fixed], "faults": [_shown(each) for each in faults]})
    elif on_terminal():
        _draw(fixed, faults)
    else:
        print_lines([(each.subject, each.fault, each.fix) for each in faults])
    sys.exit(1 if faults else 0)


def _examine() -> list[Finding]:
    return [*examine(settings()), *_agents()]


def _agents() -> Iterator[Finding]:
    """The faults in files that `init` wrote for agents that are still on this machine."""
    ledger = Ledger(settings().home)
    if not ledger.is_readable:
        unread = "It cannot be read, so the agents' files are not checked."
        yield Finding(str(ledger.path), unread, "Run `anamnesis init` again.")
    if not ledger.agents():
        return
    place = machine.place()

    def declare(program: Program) -> list[Agent]:
        return [agent for agent in machine.everybody(program) if agent.name == ENGRAM or agent.is_installed(place)]

    for fault in inspect(machine.program(), declare, ledger, machine.can_run):
        if fault.change is None:
            yield Finding(str(fault.file), fault.reason, "Correct it, then run `anamnesis doctor --fix`.")
            continue
        remarks = [agent.remark for agent in fault.agents if agent.remark]
        fix = " ".join(["Write it again: anamnesis doctor --fix", *remarks])
        yield Finding(str(fault.file), fault.reason, fix, partial(_renew, fault.change))
    waiting = find_untrusted([agent for agent in machine.agents() if agent.name in ledger.agents()])
    if waiting and waiting.hooks:
        fix = "Run `anamnesis init --agent codex --yes`, or start codex, type /hooks and trust those of anamnesis."
        yield Finding(str(waiting.file), "Codex does not run its hooks, because they are not trusted.", fix)


def _renew(change: Change) -> None:
    home = settings().home
    with locked(home / "onboard.lock"):
        print_refusals(set_up(Plan([change]), Ledger(home)))


def _shown(finding: Finding) -> dict[str, object]:
    fixable = finding.repair is not None
    return {"subject": finding.subject, "fault": finding.fault, "fix": finding.fix, "fixable": fixable}


def _draw(fixed: list[Finding], faults: list[Finding]) -> None:
    from rich.text import Text

    screen = console()
    for each in fixed:
        screen.print(Text.assemble(("✓ fixed ", "green"), (each.subject, "bold"), f"  {each.fault}"))
    for each in faults:
        screen.print(Text.assemble(("✗ ", "red"), (each.subject, "bold"), f"  {each.fault}"))
        screen.print(Text(f"  {each.fix}", "dim"))
    if not faults:
        screen.print(Text("✓ Files, index, configuration and agents are in order.", "green"))
    elif any(each.repair for each in faults):
        screen.print("anamnesis doctor --fix repairs what it can.", style="cyan")
