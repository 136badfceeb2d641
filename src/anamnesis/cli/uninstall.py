"""`anamnesis uninstall`: removes the MCP server and the hooks from the agents."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import click

from anamnesis import service
from anamnesis.bridge import FAILURES
from anamnesis.bridge.leaving import leave
from anamnesis.cli.context import settings
from anamnesis.cli.init import reconcile_engram
from anamnesis.cli.init_questions import agent_option, confirm, shortened
from anamnesis.cli.options import as_json
from anamnesis.cli.output import console, on_terminal, print_json, print_lines
from anamnesis.cli.plans import action, change_as_dict, print_diffs, print_refusals, refusal_as_dict
from anamnesis.cli.remains import check_removable, confirm_removal, remains, remove
from anamnesis.disk import locked
from anamnesis.errors import InvalidArgument
from anamnesis.onboard import machine
from anamnesis.onboard.agents import AGENTS
from anamnesis.onboard.engram_installation import NAME as ENGRAM
from anamnesis.onboard.ledger import Ledger
from anamnesis.onboard.plan import Plan
from anamnesis.onboard.removal import plan_removal, tear_down
from anamnesis.plural import counted
from anamnesis.vault import find_engram as find_database


@click.command()
@agent_option("Only this agent; may be given again.")
@click.option("--everything", is_flag=True, help="Also remove the notes and all else on this machine, for good.")
@click.option("-y", "--yes", is_flag=True, help="Ask nothing.")
@click.option(
    "--print", "--dry-run", "only_print", is_flag=True, help="Show what would change, as a diff, and change nothing."
)
@as_json
def command(names: tuple[str, ...], everything: bool, yes: bool, only_print: bool, as_json: bool) -> None:
    """Remove the MCP server and the hooks from the agents. The notes stay.

    A file that has not changed since `anamnesis init` gets its previous bytes back; from any other file, only our
    entries are removed. If a file cannot be changed, the command names it and exits with 1.

    Unless an agent is named, Engram's entries are restored too, after its engram.db has been reconciled.

    On a terminal, the command asks first.

    Our triggers are removed from it: it stops keeping the versions of what Engram changes and deletes. Those kept until
    then stay; --everything removes them. While a daemon or a service uses it, nothing is removed from it. Writing with
    anamnesis adds the triggers again, unless the setting `bridge` is off.

    It names what it leaves: the home with notes, settings and backups, the git remote, the login at a hub. With
    --everything, the folders on this machine are removed too, after a question; in a pipe, that needs --yes.

    \b
    In a pipe: what happens to a file, its path and the agents, separated by tabs.
    JSON: {"written", "engram": {"database", "is_current", "is_recording"},
           "changes": [{"file", "action", "agents", "diff"}], "refusals": [{"file", "agents", "reason", "by_hand"}],
           "removed": [PATH], "left": [{"what", "place"}]}
    """
    if everything and names:
        raise click.UsageError("--everything removes all agents: leave out --agent.")
    names_to_remove = set(names or (*AGENTS, ENGRAM))
    plan = _plan(names_to_remove, Ledger(settings().home))
    is_asking = sys.stdin.isatty() and on_terminal() and not (yes or only_print or as_json)
    left = [] if names else [*remains(settings())]
    if everything and not only_print:
        check_removable(settings())
        if not (yes or is_asking):
            raise InvalidArgument(
                "A removal cannot be undone, and nobody can be asked here.", "Add --yes to remove all."
            )
    if is_asking and plan.changes and not confirm(plan):
        raise click.Abort
    if is_asking and everything and not confirm_removal(left):
        raise click.Abort
    database = _database() if ENGRAM in names_to_remove and settings().home.is_dir() else None
    is_reconciling = settings().bridge and not only_print
    is_current = reconcile_engram(database) is not None if database and is_reconciling else False
    if not only_print:
        plan = _remove(names_to_remove)
    removed = [each for each in left if each.folder] if everything and not (only_print or plan.refusals) else []
    remove(removed)
    recording = _leave(database, wholly=bool(removed)) if database and not only_print else None
    left = [each for each in left if each not in removed]
    if as_json:
        changes, refusals = map(change_as_dict, plan.changes), map(refusal_as_dict, plan.refusals)
        engram = None
        if recording:
            engram = {"database": str(database), "is_current": is_current, "is_recording": recording.is_on}
        facts: dict[str, Any] = {"written": not only_print, "engram": engram}
        facts |= {"changes": list(changes), "refusals": list(refusals), "removed": [each.place for each in removed]}
        print_json({**facts, "left": [{"what": each.what, "place": each.place} for each in left]})
    else:
        _print(plan, only_print)
        if database and recording and database.exists():
            _print_engram(database, is_current)
            if recording.line:
                click.echo(f"anamnesis: {recording.line}", err=True)
        elif database and only_print and database.parent != settings().home:
            what = "triggers and tables" if everything else "triggers"
            click.echo(f"anamnesis: Would remove our {what} from {database}.", err=True)
        for each in removed:
            click.echo(f"anamnesis: Removed: {each.line}.", err=True)
        for each in left:
            verb = "Would remove" if everything and only_print and each.folder else "Left"
            click.echo(f"anamnesis: {verb}: {each.line}.", err=True)
    sys.exit(1 if plan.refusals else 0)


class _Recording(NamedTuple):
    """Whether an engram.db goes on recording what its programs change and delete, and a sentence about it."""

    is_on: bool
    line: str


def _database() -> Path | None:
    """The engram.db of this machine, also if the bridge is off: it may have been on."""
    try:
        path = settings().engram_db()
    except InvalidArgument:
        return None
    return path if path.exists() else None


def _leave(database: Path, *, wholly: bool) -> _Recording:
    """End the recording in Engram's database, unless a daemon goes on using it."""
    from anamnesis.pid_file import PidFile

    if database.parent == settings().home:
        return _Recording(database.exists(), "")
    goes_on = f"{database} goes on keeping what Engram changes and deletes"
    if service.installed(settings().home):
        return _Recording(True, f"{goes_on}, for the service: `anamnesis service uninstall`, then uninstall again.")
    if PidFile(settings().engram_db()).running():
        return _Recording(True, f"{goes_on}, for the daemon: `anamnesis daemon stop`, then uninstall again.")
    try:
        kept = leave(database, wholly=wholly)
    except FAILURES as error:
        return _Recording(True, f"{goes_on}: it cannot be changed now: {str(error).rstrip('.')}. Uninstall again.")
    if kept is None:
        return _Recording(False, "")
    if wholly:
        return _Recording(False, f"Our triggers and tables are removed from {database}.")
    done = f"Our triggers are removed from {database}; writing with anamnesis adds them, unless `bridge` is off."
    stays = counted(kept, "replaced or deleted version stays", "replaced or deleted versions stay")
    return _Recording(False, f"{done} {stays} in it; --everything removes them." if kept else done)


def _print_engram(database: Path, is_current: bool) -> None:
    """Print the state of engram.db, and whether our daemon still holds Engram's port."""
    from anamnesis.pid_file import PidFile

    if database.parent == settings().home:
        click.echo(f"anamnesis: {database}, which Anamnesis created, is kept.", err=True)
    elif is_current:
        click.echo(f"anamnesis: {database} is up to date; Engram can use it.", err=True)
    if running := PidFile(settings().engram_db()).running():
        click.echo(
            f"anamnesis: The daemon still serves {running.url} for Anamnesis; `anamnesis daemon stop` stops it.",
            err=True,
        )


def _remove(names_to_remove: set[str]) -> Plan:
    home = settings().home
    with locked(home / "onboard.lock") if home.is_dir() else nullcontext():
        ledger = Ledger(home)
        return tear_down(_plan(names_to_remove, ledger), names_to_remove, ledger)


def _plan(names_to_remove: set[str], ledger: Ledger) -> Plan:
    everybody = machine.agents_and_engram(settings(), find_database(settings()))
    return plan_removal(everybody, names_to_remove, ledger, settings().user_home)


def _print(plan: Plan, only_print: bool) -> None:
    if only_print:
        print_diffs(plan)
    elif on_terminal():
        _draw(plan)
    else:
        print_lines([(action(change), change.file, " ".join(change.agents)) for change in plan.changes])
    print_refusals(plan)


def _draw(plan: Plan) -> None:
    screen = console()
    for change in plan.changes:
        screen.draw("[green]✓[/] {}d  {}", action(change), shortened(change.file))
    if not plan.changes and not plan.refusals:
        screen.print("No agent has entries of anamnesis.")
