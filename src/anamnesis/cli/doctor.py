"""`anamnesis doctor`: lists faults with their fixes, and applies them."""

from __future__ import annotations

import sys

import click

from anamnesis.cli import service
from anamnesis.cli.context import settings
from anamnesis.cli.options import as_json
from anamnesis.cli.output import console, on_terminal, print_json, print_lines
from anamnesis.cli.plans import print_refusals
from anamnesis.doctor import Finding, examine, repair
from anamnesis.doctor.agents import examine_agents

# A fixed file may be a pending change for the bridge, which the second round reconciles.
_ROUNDS = 2


@click.command()
@click.option("--fix", is_flag=True, help="Repair what can be repaired without losing anything.")
@as_json
def command(fix: bool, as_json: bool) -> None:
    """Check files, index, configuration, the service, and what `init` wrote for agents; name each fault and its fix.

    An agent's file has a fault if it is missing, cannot be read, lacks an entry of ours, or starts a program that does
    not run. An agent that is also set up by the plugin is a fault, and so is Codex if it does not trust the hooks.
    Exits with 1 if a fault remains.

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
        print_json({"fixed": [_as_dict(each) for each in fixed], "faults": [_as_dict(each) for each in faults]})
    elif on_terminal():
        _draw(fixed, faults)
    else:
        print_lines([(each.subject, each.fault, each.fix) for each in faults])
    sys.exit(1 if faults else 0)


def _examine() -> list[Finding]:
    agents = examine_agents(settings(), print_refusals).findings
    return [*examine(settings()), *agents, *service.findings()]


def _as_dict(finding: Finding) -> dict[str, object]:
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
