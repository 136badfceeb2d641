"""`anamnesis init`: set up the store of this machine and the agents on it."""

from __future__ import annotations

import re
import shlex
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from anamnesis.cli import codex_trust
from anamnesis.cli.context import change_setting, settings
from anamnesis.cli.init_questions import (
    agent_option,
    ask_agents,
    ask_instructions,
    ask_reflection,
    ask_remote,
    confirm,
    features,
)
from anamnesis.cli.init_report import draw_report
from anamnesis.cli.options import adopt_option, as_json, open_memory, open_store
from anamnesis.cli.output import activity, on_terminal, print_json, print_lines, progress_bar
from anamnesis.cli.plans import action, change_as_dict, describe_holdings, print_diffs, print_refusals, refusal_as_dict
from anamnesis.config import CONFIG_NAME, DEFAULT, read_config, setting
from anamnesis.disk import locked
from anamnesis.errors import AnamnesisError
from anamnesis.onboard import machine
from anamnesis.onboard.agent import Agent
from anamnesis.onboard.engram_installation import EngramInstallation, find_installation
from anamnesis.onboard.holdings import Holdings, count
from anamnesis.onboard.ledger import Ledger
from anamnesis.onboard.plan import Plan
from anamnesis.onboard.setup import plan_setup, set_up
from anamnesis.plural import counted
from anamnesis.vault import Vault
from anamnesis.vault import find_engram as find_database


@dataclass(frozen=True, slots=True)
class _LocalEngram:
    """Engram on this machine: its installation, its database with the contents, and what to do by hand."""

    installation: EngramInstallation
    database: Path | None
    holdings: Holdings | None
    remarks: list[str]


@dataclass(slots=True)
class _Setup:
    """The agents to set up, those that get a line in their instructions, the settings to write, and Engram.

    `adopt`: whether the first sync may join a remote that is no repository of notes.
    """

    agents: list[Agent]
    instructed: list[Agent]
    settings: dict[str, str | None]
    engram: _LocalEngram | None
    adopt: bool

    @property
    def all_agents(self) -> list[Agent]:
        return [*self.agents, *([self.engram.installation.agent] if self.engram else [])]


@dataclass(frozen=True, slots=True)
class _Report:
    """What was done, or would be done."""

    done: Plan
    reconciled: int | None = None
    imported: dict[str, int] | None = None
    synced: dict[str, Any] | None = None


@click.command()
@agent_option("Set up this agent, also if it is not found; may be given again.")
@click.option("--all", "everything", is_flag=True, help="Set up every agent that is found.")
@click.option("-y", "--yes", is_flag=True, help="Ask nothing; without --agent, the same as --all.")
@click.option(
    "--instructions",
    is_flag=True,
    help="For agents without hooks, add a line about the memory to their instructions.",
)
@click.option("--remote", metavar="URL", help="The git repository that carries the notes between your machines.")
@adopt_option
@click.option("--local-only", is_flag=True, help="Keep the notes on this machine; a remote can be set later.")
@click.option(
    "--print", "--dry-run", "only_print", is_flag=True, help="Show what would change, as a diff, and change nothing."
)
@as_json
def command(
    names: tuple[str, ...],
    everything: bool,
    yes: bool,
    instructions: bool,
    remote: str | None,
    adopt: bool,
    local_only: bool,
    only_print: bool,
    as_json: bool,
) -> None:
    """Set up this machine: the store, and the agents that are to use it.

    Registers the MCP server and the hooks of each agent, imports Claude Code's memory, and syncs. A second run changes
    only what is outdated. Entries of other programs in the same files are left alone; each file is saved under
    ANAMNESIS_HOME before it is changed, and `anamnesis uninstall` restores it. For a file that cannot be changed, the
    command prints the lines to add by hand and exits with 1.

    If Engram is installed and no agent is named, its observations become notes, and the agents' entries for its server
    start Anamnesis instead. So does `engram`, if ~/.local/bin or ~/bin comes before it on the PATH.

    Agents start the program by a path that survives updates: the installer's link, or a launcher under ANAMNESIS_HOME
    if the program runs from a virtual environment.

    Codex runs only trusted hooks: `anamnesis init` asks for your consent and does what /hooks in Codex does; --yes
    agrees.

    On a terminal, the command asks, also for a git remote and for a model that summarises sessions; --yes takes the
    defaults. Without a terminal it needs --agent, --all or --yes.

    \b
    In a pipe: what happens to a file, its path and the agents, separated by tabs.
    JSON: {"home", "program", "runs", "machine_id", "remote", "written", "imported", "synced",
           "engram": {"database", "observations", "sessions", "projects", "with_notes",
                      "program", "plugins", "remarks", "reconciled"},
           "agents": [{"name", "title", "mcp", "start", "prompt", "end", "remark"}],
           "changes": [{"file", "action", "agents", "diff"}],
           "refusals": [{"file", "agents", "reason", "by_hand"}]}
    """
    if remote and local_only:
        raise click.UsageError("--remote and --local-only exclude each other.")
    is_asking = sys.stdin.isatty() and on_terminal() and not (yes or only_print or as_json)
    changed = _changed_settings(remote, local_only)
    agents = _agents(names, everything or yes or only_print, is_asking)
    engram = _find_engram() if not names and (everything or yes or only_print or is_asking) else None
    setup = _Setup(agents, [agent for agent in agents if agent.instructions and instructions], changed, engram, adopt)
    if is_asking:
        _ask_rest(setup, has_place=bool(remote or local_only or settings().remote))
        _print_engram(setup)
    plan = plan_setup(setup.all_agents, setup.instructed)
    if is_asking and plan.changes and not confirm(plan):
        raise click.Abort
    report = _Report(plan) if only_print else _write(setup, plan)
    if not only_print:
        codex_trust.trust(setup.agents, report.done, is_asking=is_asking, is_agreed=yes)
    _print(setup, report, is_written=not only_print, as_json=as_json)
    sys.exit(1 if report.done.refusals else 0)


def _ask_rest(setup: _Setup, has_place: bool) -> None:
    """Ask the questions of the first setup: for new agents, and for a new machine."""
    new = {name for change in plan_setup(setup.agents).changes for name in change.agents}
    if not setup.instructed:
        setup.instructed = ask_instructions([agent for agent in setup.agents if agent.name in new])
    is_first = "machine_id" in setup.settings
    if is_first and not has_place:
        setup.settings |= ask_remote()
    if is_first and settings().resolved("reflection_provider").source == DEFAULT:
        setup.settings |= ask_reflection()


def _agents(names: tuple[str, ...], takes_found: bool, is_asking: bool) -> list[Agent]:
    """The agents to set up: those named, those detected, or those that the user chose from them."""
    agents = machine.agents(settings())
    if names:
        return [agent for agent in agents if agent.name in names]
    place = machine.place(settings())
    found = [agent for agent in agents if agent.is_installed(place)]
    if takes_found or not found:
        return found
    if not is_asking:
        raise click.UsageError(
            "There is no terminal to ask on. Name agents with --agent, or take those that are found with --all:"
            f" {', '.join(agent.name for agent in found)}."
        )
    return ask_agents(found)


def _find_engram() -> _LocalEngram | None:
    """Engram, if it is on this machine and the bridge is on."""
    if not settings().bridge:
        return None
    database = find_database(settings())
    # Our own home may have an engram.db without Engram being installed.
    theirs = database if database and database.parent != settings().home else None
    installation = find_installation(
        machine.place(settings()), machine.program(settings()), machine.agents(settings()), theirs
    )
    if installation is None:
        return None
    remarks = [remark for remark in (*installation.remarks, _remark_on_daemon()) if remark]
    try:
        return _LocalEngram(installation, database, count(database) if database else None, remarks)
    except AnamnesisError as error:
        return _LocalEngram(installation, database, None, [*remarks, str(error)])


def _remark_on_daemon() -> str:
    """What to do about a running daemon of Engram; "" if there is none."""
    from anamnesis.daemon import DEFAULT_PORT
    from anamnesis.daemon.port import holder
    from anamnesis.engram.gotext import whole

    port = whole(settings().engram_port) or DEFAULT_PORT
    program = holder(port)
    if not program.startswith("Engram"):
        return ""
    return (
        f"Port {port} is served by {program}: stop it, then run `anamnesis daemon`; until then both share one memory."
    )


def reconcile_engram(database: Path) -> int | None:
    """Reconcile notes and observations; returns how many changes there were, None if some are still pending."""
    try:
        with (
            Vault(settings().home, database, settings().user_home, versions=settings().versions) as vault,
            progress_bar("Engram's memory") as progress,
        ):
            bridge = vault.connect(database, settings().machine_id)
            reconciled = bridge.reconcile(progress)
            left = bridge.waiting().total
    except KeyboardInterrupt:
        reason = "was only reconciled in part"
    except (AnamnesisError, sqlite3.Error) as error:
        reason = f"cannot be reconciled now: {str(error).rstrip('.')}"
    else:
        if not left:
            return reconciled
        reason = f"and the notes still differ in {left} places"
    click.echo(f"anamnesis: {database} {reason}. The rest is reconciled when Anamnesis is next used.", err=True)
    return None


def _changed_settings(remote: str | None, local_only: bool) -> dict[str, str | None]:
    """The settings to write to config.json. The machine's name is fixed there, as host names change with networks."""
    config = read_config(settings(needs_config=True).home)
    wanted: dict[str, str | None] = {}
    if not config.get("machine_id"):
        wanted["machine_id"] = re.sub(r"[^\w.-]+", "-", settings().machine_id)[:64]
    if remote and config.get("remote") != remote:
        wanted["remote"] = setting("remote").check(remote)
    if local_only and config.get("remote"):
        wanted["remote"] = None
    return wanted


def _write(setup: _Setup, plan: Plan) -> _Report:
    home = settings().home
    for name, value in setup.settings.items():
        change_setting(name, value)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(home / "onboard.lock"):
        done = set_up(plan, Ledger(home))
    database = setup.engram.database if setup.engram else None
    return _Report(done, reconcile_engram(database) if database else None, _first_import(), _first_sync(setup.adopt))


def _first_import() -> dict[str, int] | None:
    """Import Claude Code's memory; None if it was never used."""
    from anamnesis.importers.claude_memory import import_claude

    folder = settings().claude_home
    with open_store() as store:
        if not (folder / "projects").is_dir():
            return None
        return import_claude(store, folder, settings().machine_id, settings().user_home).counts


def _first_sync(adopt: bool) -> dict[str, Any] | None:
    """Sync for the first time; None if there is no remote."""
    if not settings().remote:
        return None
    from anamnesis.sync import configured_backend

    try:
        with open_memory() as vault:
            with activity() as announce:
                backend = configured_backend(vault.notes, settings(), adopt=adopt, announce=announce)
                done = vault.sync(backend, settings(), announce=announce)
            for fault in done.faults:
                click.echo(f"anamnesis: {fault}", err=True)
            return done.report(vault.notes)
    except KeyboardInterrupt:
        click.echo("anamnesis: The first sync was interrupted; `anamnesis sync` continues it.", err=True)
    except (AnamnesisError, sqlite3.Error) as error:
        click.echo(f"anamnesis: {error}", err=True)
    return None


def _print(setup: _Setup, report: _Report, *, is_written: bool, as_json: bool) -> None:
    if as_json:
        print_json(_as_dict(setup, report, is_written))
        return
    if not is_written:
        for name, value in setup.settings.items():
            click.echo(f"{settings().home / CONFIG_NAME}: {name} = {value or 'none'}")
        _print_engram(setup)
        print_diffs(report.done)
    elif on_terminal():
        draw_report(setup.all_agents, report.done, list(_other_results(report)))
    else:
        print_lines([(action(change), change.file, " ".join(change.agents)) for change in report.done.changes])
    print_refusals(report.done)
    for remark in setup.engram.remarks if setup.engram else ():
        click.echo(f"anamnesis: {remark}", err=True)


def _print_engram(setup: _Setup) -> None:
    """Print what Engram's database holds, before the user confirms the changes."""
    if setup.engram and setup.engram.database and setup.engram.holdings:
        click.echo(describe_holdings(setup.engram.database, setup.engram.holdings))


def _as_dict(setup: _Setup, report: _Report, is_written: bool) -> dict[str, Any]:
    return {
        "home": str(settings().home),
        "program": shlex.join(machine.program(settings()).words),
        "runs": shlex.join(machine.program(settings()).runs) or None,
        "machine_id": setup.settings.get("machine_id") or settings().machine_id,
        "remote": setup.settings.get("remote", settings().remote),
        "written": is_written,
        "imported": report.imported,
        "synced": report.synced,
        "engram": _engram_as_dict(setup.engram, report.reconciled) if setup.engram else None,
        "agents": [
            {"name": agent.name, "title": agent.title, **features(agent), "remark": agent.remark or None}
            for agent in setup.agents
        ],
        "changes": [change_as_dict(change) for change in report.done.changes],
        "refusals": [refusal_as_dict(refusal) for refusal in report.done.refusals],
    }


def _engram_as_dict(engram: _LocalEngram, reconciled: int | None) -> dict[str, Any]:
    holdings = asdict(engram.holdings) if engram.holdings else dict.fromkeys(Holdings.__slots__)
    return {
        "database": str(engram.database) if engram.database else None,
        **holdings,
        "program": str(engram.installation.program) if engram.installation.program else None,
        "plugins": list(engram.installation.plugins),
        "remarks": engram.remarks,
        "reconciled": reconciled,
    }


def _other_results(report: _Report) -> Iterator[str]:
    """Sentences on what was done besides the agents' files."""
    if report.reconciled:
        changes = counted(report.reconciled, "change was", "changes were")
        yield f"Engram's memory and the notes are one: {changes} reconciled."
    if report.imported and report.imported["new"]:
        yield f"{counted(report.imported['new'], 'note')} imported from Claude Code."
    if report.synced and report.synced["detail"] == "synced":
        yield f"Synced with {settings().remote}."
