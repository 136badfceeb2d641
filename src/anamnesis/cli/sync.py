"""`anamnesis sync`: syncs the notes with the other machines once."""

from __future__ import annotations

import os
import sys

import click

from anamnesis.cli.context import settings
from anamnesis.cli.options import adopt_option, as_json, open_memory, store_option
from anamnesis.cli.output import activity, console, on_terminal, print_json, print_lines
from anamnesis.config import HOME_VARIABLE
from anamnesis.errors import AnamnesisError
from anamnesis.log import log
from anamnesis.signals import exit_on_signals
from anamnesis.store import MemoryStore


@click.command()
@click.option("--background", is_flag=True, help="Return at once; the log under ANAMNESIS_HOME says how it went.")
@adopt_option
@store_option
@as_json
def command(background: bool, adopt: bool, home: str | None, as_json: bool) -> None:
    """Bring together the notes of all your machines, by git.

    Commits what changed here, merges what other machines wrote, note by note, and pushes. Where two machines
    changed the same lines, both versions are kept: see `anamnesis conflicts`. Without a remote it only commits;
    set one with `anamnesis config set remote ADDRESS`. Claude Code's own memory files are imported first.

    A remote that holds anything but notes and a README or a licence is refused, as it may be another project's
    repository; --adopt joins it.

    Exits with 1 if the remote was refused or could not be reached; what was not sent is sent by the next sync.

    JSON: {"pushed", "pulled", "conflicted", "head", "indexed", "detail"}
    """
    if home:
        os.environ[HOME_VARIABLE] = home  # the background process inherits it
    if background:
        from anamnesis.background import run_in_background

        run_in_background("sync", *(["--adopt"] if adopt else []))
        return
    from anamnesis.sync import configured_backend, report

    exit_on_signals()
    with open_memory() as vault, activity() as announce:
        _import(vault.notes)
        result = vault.sync(configured_backend(vault.notes, settings(), adopt=adopt, announce=announce))
        facts = report(vault.notes, result)
    if as_json:
        print_json(facts)
    elif on_terminal():
        _draw(facts, len(result.changed), is_reached=result.reached)
    else:
        print_lines([each for each in facts.items() if result.reached or each[0] != "detail"])
    if not result.reached:
        click.echo(f"anamnesis: {result.detail}", err=True)
        sys.exit(1)


def _import(store: MemoryStore) -> None:
    """Import Claude Code's own memory; if that fails, the notes are synced anyway."""
    claude_home = settings().claude_home
    if not any((claude_home / "projects").glob("*/memory")):
        return
    from anamnesis.importers.claude import import_claude

    try:
        import_claude(store, claude_home, settings().machine_id, settings().user_home)
    except (AnamnesisError, OSError) as error:
        log(store.root, "import failed", reason=str(error))


def _draw(facts: dict[str, object], changed: int, *, is_reached: bool) -> None:
    from rich.text import Text

    pulled = facts["pulled"]
    screen = console()
    screen.print(Text(f"↓ {pulled} commits received", "cyan") if pulled else Text("↓ nothing new", "dim"))
    screen.print(Text("↑ sent", "green") if facts["pushed"] else Text("↑ nothing sent", "dim"))
    if is_reached and facts["detail"] != "synced":
        screen.print(Text(f"≠ {facts['detail']}", "yellow"))
    screen.print(f"{changed} files changed, {facts['indexed']:,} notes, at {facts['head'] or 'no commit yet'}")
