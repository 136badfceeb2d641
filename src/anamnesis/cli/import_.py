"""`anamnesis import`: imports the memory of other programs as notes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from anamnesis.cli.context import settings
from anamnesis.cli.options import as_json, open_store
from anamnesis.cli.output import print_json


@click.group()
def command() -> None:
    """Import what other programs remember. Their files are only read."""


@command.command()
@click.option(
    "--from",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Claude Code's folder, where it is not CLAUDE_CONFIG_DIR or ~/.claude.",
)
@as_json
def claude(folder: Path | None, as_json: bool) -> None:
    """Import Claude Code's own memory files as notes.

    May be run again at any time: what changed there is brought up to date here; a note that was deleted or edited
    here is left as it is.

    JSON: {"new", "updated", "unchanged", "left"}
    """
    from anamnesis.importers.claude_memory import import_claude

    with open_store() as store:
        source = folder or settings().claude_home
        done = import_claude(store, source, settings().machine_id, settings().user_home)
    if as_json:
        print_json(asdict(done))
    else:
        click.echo(
            f"{done.new} new, {done.updated} updated, {done.unchanged} unchanged,"
            f" {done.left} left as they are here (deleted or edited)."
        )
