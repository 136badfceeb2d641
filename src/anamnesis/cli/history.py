"""`anamnesis history`: shows the revisions of a note, and restores one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from anamnesis.age import age
from anamnesis.cli.naming import resolve_note
from anamnesis.cli.options import as_json, note_id, open_memory
from anamnesis.cli.output import console, draw_diff, on_terminal, print_json, print_lines
from anamnesis.plural import counted
from anamnesis.store import MemoryStore
from anamnesis.vault import Vault

if TYPE_CHECKING:
    from anamnesis.history.version import Revision


@click.command()
@note_id()
@click.option("--limit", type=click.IntRange(min=0), default=20, show_default=True, help="At most this many.")
@click.option("--restore", "number", type=click.IntRange(min=1), metavar="NUMBER", help="Go back to this revision.")
@as_json
def command(note_id: str, limit: int, number: int | None, as_json: bool) -> None:
    """Show every revision of a note as a diff, the newest first, or go back to one.

    Revisions come from git, from the edits that this machine has seen since (limited by the setting `versions`), from
    the journal of engram.db and, if the note was deleted, from the trash. Number 1 is the oldest. Going back to a
    revision adds it as the newest, and keeps all others; the note stays where it is: on this machine only or synced,
    and in its space. ID is as in `anamnesis show`, or the number of an observation or its sync_id.

    \b
    In a pipe: number, time, source (git, kept, journal, trash or now), commit, by whom (the user of the hub who wrote
    it, or the machine whose sync committed it), what changed, separated by tabs; then, if the text is not yours, where
    it comes from; then the diff.
    JSON: [{"number", "at", "source", "commit", "by", "changed", "diff", "text"}], where "text" is
    null if the note was deleted, with "origin" and "unreviewed" as in search; with --restore {"id", "number", "diff"}
    """
    with open_memory(only_to_read=number is None) as vault:
        found = vault.history(_resolve(vault, note_id))
        if number:
            _restore(vault.notes, found, number, as_json)
            return
    newest = found[::-1][:limit]
    if as_json:
        print_json([_as_dict(each) for each in newest])
    else:
        _show(newest, len(found))


def _resolve(vault: Vault, given: str) -> str:
    """The full id of a note, which may have been deleted."""
    from anamnesis.history.revisions import note_of

    if vault.engram and (found := note_of(vault.engram, given)):
        return found
    return resolve_note(vault.notes, given, deleted=True).id


def _restore(store: MemoryStore, found: list[Revision], number: int, as_json: bool) -> None:
    from anamnesis.history.restoring import restore

    done = restore(store, found, number)
    if as_json:
        print_json({"id": done.note.id, "number": number, "diff": done.diff})
    elif done.diff:
        draw_diff(done.diff)
        click.echo(f"Restored: {done.note.id} is as in revision {number}. {done.kept}".strip())
    else:
        click.echo(f"Unchanged: {done.note.id} is as in revision {number} already. {done.kept}".strip())


def _as_dict(revision: Revision) -> dict[str, Any]:
    version = revision.version
    return {
        "number": revision.number,
        "at": version.at,
        "source": version.source,
        "commit": version.commit,
        "by": version.by,
        "changed": revision.summary,
        "diff": revision.diff,
        "text": version.text if version.note else None,
        **(version.origin.shown() if version.origin else {}),
    }


def _show(revisions: list[Revision], total: int) -> None:
    for each in revisions:
        version = each.version
        if on_terminal():
            origin = " ".join(word for word in (version.source, version.commit, version.by) if word)
            moment = f"{version.at[:19].replace('T', ' ')} UTC"
            screen = console()
            screen.draw("[bold]{}[/]  {}  [dim]{}[/]  ", each.number, moment, age(version.at), end="")
            screen.print(f"{origin}  {each.summary}", style="cyan")
            if version.origin:
                screen.print(version.origin.sentence, style="yellow")
        else:
            remark = [version.origin.brief] if version.origin else []
            print_lines([(each.number, version.at, version.source, version.commit, version.by, each.summary, *remark)])
        draw_diff(each.diff)
    if on_terminal():
        console().print(
            f"{len(revisions)} of {counted(total, 'revision')}; anamnesis history ID --restore NUMBER", style="dim"
        )
