"""`anamnesis hub audit`, `backup`, `restore`, `new-history` and `export`: the log and the data of a hub."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path

import click

from anamnesis.cli.hub_options import administration, hub_command, print_table
from anamnesis.cli.output import print_json
from anamnesis.errors import Unwritable
from anamnesis.plural import counted


@click.command(name="audit")
@click.option("--space", help="Only what concerns this space.")
@click.option("--user", help="Only what this user did.")
@click.option(
    "-n", "--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="How many entries at most."
)
@hub_command
def audit_command(database: str, space: str | None, user: str | None, limit: int, as_json: bool) -> None:
    """Show who did what, the newest first. The log is append-only, and holds no text of a note.

    \b
    In a pipe: time, actor, action, space, target, separated by tabs.
    JSON: {"entries": [{"id", "at", "actor", "action", "space", "target", "facts"}]}
    """
    from anamnesis.hub import accounts, audit

    with administration(database) as db:
        wanted = accounts.find_space(db, space).id if space else None
        entries = audit.entries(db, space=wanted, actor=user, limit=limit)
    print_table(entries, ("at", "actor", "action", "space", "target"), as_json=as_json, key="entries")


@click.command(name="backup")
@click.argument("file", type=click.Path(path_type=Path))
@hub_command
def backup_command(database: str, file: Path, as_json: bool) -> None:
    """Save a snapshot of the hub in one file, without stopping it, and verify it.

    The file is as confidential as the notes. It does not hold the key: keep that apart, for without it all tokens have
    to be created again.

    JSON: {"file", "hub", "step", "rows": {TABLE: NUMBER}}
    """
    from anamnesis.hub.backup import back_up

    with administration(database) as db:
        manifest = back_up(db, file)
    if as_json:
        print_json({"file": str(file), "hub": manifest.hub, "step": manifest.step, "rows": manifest.rows})
    else:
        what = f"{counted(manifest.rows['notes'], 'note')} in {counted(manifest.rows['versions'], 'version')}"
        click.echo(f"Saved {what} in {file}, and verified it.")


@click.command(name="restore")
@click.argument("file", type=click.Path(path_type=Path))
@hub_command
def restore_command(database: str, file: Path, as_json: bool) -> None:
    """Restore a backup into a new database, and migrate it to this version of the program.

    Tokens work again with the key of the hub that was saved. The restored hub has another id, so machines compare all
    notes at the next sync, and send again what they had sent after the backup.

    JSON: {"file", "hub", "step", "rows": {TABLE: NUMBER}}
    """
    from anamnesis.hub.accounts import hub_id
    from anamnesis.hub.backup import restore

    with administration(database) as db:
        manifest = restore(db, file)
        hub = hub_id(db)
    if as_json:
        print_json({"file": str(file), "hub": hub, "step": manifest.step, "rows": manifest.rows})
    else:
        click.echo(f"Restored {counted(manifest.rows['notes'], 'note')} from {file}.")


@click.command(name="new-history")
@hub_command
def new_history_command(database: str, as_json: bool) -> None:
    """Make all machines compare their notes with the hub's, after the database was set back to an earlier state.

    Run it after the restore of a dump or of a snapshot of the disk. Machines believe that the hub has what they sent;
    now they send again what it lost. `anamnesis hub restore`, a point-in-time recovery and the promotion of a replica
    need no command: PostgreSQL counts a new timeline, which machines notice.

    JSON: {"hub"}, the new id.
    """
    from anamnesis.hub.accounts import name_new_history

    with administration(database) as db:
        hub = name_new_history(db)
    if as_json:
        print_json({"hub": hub})
    else:
        click.echo(hub)


@click.command(name="export")
@click.argument("user")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--personal", is_flag=True, help="Only the user's own space; also of one who has left.")
@hub_command
def export_command(database: str, user: str, file: Path, personal: bool, as_json: bool) -> None:
    """Export everything that a user may see, with all versions, one JSON object a line.

    The first line says whose it is, a line per space follows, then a line per version of each note.

    JSON: {"file", "user", "lines"}
    """
    from anamnesis.hub.exporting import Export, personal_of, seen_by

    entering = partial(personal_of if personal else seen_by, database, user)
    export, lines = Export(entering), 0
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            while page := export.next_page():
                lines += len(page)
                opened.writelines(json.dumps(each, ensure_ascii=False) + "\n" for each in page)
    except OSError as error:
        raise Unwritable(f"{file} cannot be written: {error.strerror or error}.") from error
    if as_json:
        print_json({"file": str(file), "user": user, "lines": lines})
    else:
        click.echo(f"Exported {counted(lines, 'line')} to {file}.")
