"""`anamnesis hub audit`, `backup`, `restore`, `new-history` and `export`: the log and the data of a hub."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path

import click

from anamnesis.cli.hub_options import administration, hub_command, print_table
from anamnesis.cli.output import print_json, print_lines
from anamnesis.errors import Unwritable
from anamnesis.plural import counted

_SHOWN = ("at", "actor", "action", "space", "target")


@click.command(name="audit")
@click.option("--space", help="Only what concerns this space.")
@click.option("--user", help="Only what this user did.")
@click.option(
    "-n", "--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="How many entries at most."
)
@click.option(
    "--notes/--no-notes", "with_notes", default=True, show_default=True, help="What members did to notes too."
)
@hub_command
def audit_command(
    database: str, space: str | None, user: str | None, limit: int, with_notes: bool, as_json: bool
) -> None:
    """Show who did what, the newest first. The log is append-only, and holds no text of a note.

    \b
    In a pipe: time, actor, action, space, target, separated by tabs.
    JSON: {"entries": [{"id", "at", "actor", "action", "space", "target", "facts"}]}

    What members did to notes is read from the versions of the notes, so it ends with an erasure: "note write", "note
    delete" and "note move", which is a deletion while the note is in another space. Its `id` is null, and `facts` name
    the version, the machine and the other space.
    """
    from anamnesis.hub import accounts, audit

    with administration(database) as db:
        wanted = accounts.find_space(db, space).id if space else None
        entries = audit.entries(db, space=wanted, actor=user, limit=limit, with_notes=with_notes)
    print_table(entries, _SHOWN, as_json=as_json, key="entries")


@click.command(name="backup")
@click.argument("file", type=click.Path(path_type=Path))
@hub_command
def backup_command(database: str, file: Path, as_json: bool) -> None:
    """Save a snapshot of the hub in one file, without stopping it, and verify it.

    The file is as confidential as the notes. It does not hold the key: keep that apart, for without it all tokens have
    to be created again.

    JSON: {"file", "hub", "step", "rows": {TABLE: NUMBER}}
    """
    from anamnesis.hub import audit
    from anamnesis.hub.backup import back_up

    with administration(database) as db:
        manifest = back_up(db, file)
    with administration(database) as db:
        audit.record(db, audit.ADMINISTRATOR, "hub backup", file.name)
    if as_json:
        print_json({"file": str(file), "hub": manifest.hub, "step": manifest.step, "rows": manifest.rows})
    else:
        what = f"{counted(manifest.rows['notes'], 'note')} in {counted(manifest.rows['versions'], 'version')}"
        click.echo(f"Saved {what} in {file}, and verified it.")


@click.command(name="restore")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--log",
    "log_file",
    type=click.Path(path_type=Path),
    help="The audit log, from `anamnesis hub audit --no-notes --json -n 100000` after the backup.",
)
@hub_command
def restore_command(database: str, file: Path, log_file: Path | None, as_json: bool) -> None:
    """Restore a backup into a new database, and migrate it to this version of the program.

    A backup does not know what ended after it. With the audit log of a later time, it ends again: tokens that were
    revoked, users who left, members and projects that were removed, and what was erased. Without a log all tokens end,
    and members log in again, each with a new token at the same address; remove who has left, and erase again what was
    erased, before you give out tokens.

    The restored hub has another id, so machines compare all notes at the next sync: they send again what they had sent
    after the backup, and delete again what was deleted or moved since. Use `anamnesis restore` or `anamnesis history`
    on a machine to bring a deleted note back.

    \b
    JSON: {"file", "hub", "step", "rows": {TABLE: NUMBER}, "saved_at", "tokens_ended", "repeated": [ENTRY],
    "undone": [ENTRY]}, with entries as of `anamnesis hub audit`
    """
    from anamnesis.hub.accounts import hub_id
    from anamnesis.hub.backup import restore
    from anamnesis.hub.repeating import read_log

    log = read_log(log_file) if log_file else None
    with administration(database) as db:
        manifest, since = restore(db, file, log)
        hub = hub_id(db)
    if as_json:
        restored = {"file": str(file), "hub": hub, "step": manifest.step, "rows": manifest.rows}
        ended = {"saved_at": since.saved_at, "tokens_ended": since.tokens}
        print_json({**restored, **ended, "repeated": since.repeated, "undone": since.undone})
        return
    click.echo(
        f"Restored {counted(manifest.rows['notes'], 'note')} from {file}. Its audit log ends at {since.saved_at}."
    )
    if log is None:
        click.echo(f"Ended {counted(since.tokens, 'token')}: every member logs in again with a new one.")
        click.echo(
            "Who left and what was erased after the backup is back in the hub. End it again before you serve it:"
        )
        click.echo("anamnesis hub user leave, anamnesis hub space member --remove, anamnesis hub erase.")
        return
    for heading, entries in (("Ended again", since.repeated), ("Lost, do it again if it still holds", since.undone)):
        if entries:
            click.echo(f"{heading}:")
            print_lines([[f"  {each['at']}", *(each[name] for name in _SHOWN[1:])] for each in entries])


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
    from anamnesis.hub.audit import ADMINISTRATOR
    from anamnesis.hub.exporting import Export, personal_of, seen_by

    entering = partial(personal_of if personal else seen_by, database, user)
    export, lines = Export(entering, ADMINISTRATOR), 0
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
