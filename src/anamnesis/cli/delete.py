"""`anamnesis delete`: moves notes to the trash, or purges them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from anamnesis.cli.context import settings
from anamnesis.cli.naming import ResolvedNote, ask, resolve_note, resolve_notes
from anamnesis.cli.options import as_json, note_id, open_memory, open_store, yes_option
from anamnesis.cli.output import in_a_line, print_json
from anamnesis.cli.spaces import departures
from anamnesis.errors import InvalidNote, NoteNotFound
from anamnesis.notes import as_dict
from anamnesis.plural import counted, these
from anamnesis.store import MemoryStore

if TYPE_CHECKING:
    from anamnesis.sync.past import Past


@click.command()
@note_id("note_ids", metavar="ID...", nargs=-1, required=True)
@click.option("--purge", is_flag=True, help="Remove them permanently: they cannot be restored.")
@yes_option
@as_json
def command(note_ids: tuple[str, ...], purge: bool, yes: bool, as_json: bool) -> None:
    """Delete notes. They go to the trash; `anamnesis restore ID` brings them back.

    ID is as in `anamnesis show`. If it is a title, @1 or fewer than 8 characters of an id, the
    command asks first; in a pipe, it needs --yes.

    With --purge, notes are removed permanently, also those in the trash and those that Engram has hidden: their files,
    their observations with all revisions, the copies that conflicts left, and their words in the databases. Only the
    ids stay, so that no sync, import or capture writes the notes again. git's history is not rewritten: the command
    says how many commits hold the notes, and how to rewrite them. Other machines move the notes to their trash when
    they sync; purge them there too. On a terminal, it asks first; in a pipe, it needs --yes.

    \b
    JSON: the deleted notes, as in show; with --purge
    {"purged": [ID], "is_erased", "git": {"commits", "is_pushed", "commands"},
     "hub": [{"note", "url", "space"}]}, where "is_erased" is false
    while another program uses a database whose file may still hold words of the notes.
    """
    if purge:
        _purge(note_ids, yes, as_json)
        return
    with open_store() as store:
        deleted = [store.delete(note.id) for note in resolve_notes(store, note_ids, "Delete", yes)]
    if as_json:
        print_json([as_dict(note) for note in deleted])
    else:
        for note in deleted:
            click.echo(f"Deleted: {note.id} ({in_a_line(note.title)}). To bring it back: anamnesis restore {note.id}")
    for line in departures([note.id for note in deleted], deletes=True):
        click.echo(line, err=True)


def _purge(note_ids: Sequence[str], yes: bool, as_json: bool) -> None:
    from anamnesis.exchange.state import places_at_hub
    from anamnesis.store.purging import versions_of
    from anamnesis.sync.past import find_past
    from anamnesis.sync.worktree import forget_staged

    with open_memory() as vault:
        store = vault.notes
        store.refresh()  # also indexes files edited in place
        known = [_known_id(store, each) for each in note_ids]  # raises before any is purged
        ids = list(dict.fromkeys(version for each in known for version in versions_of(store, each)))
        if not yes:
            _confirm(store, ids)
        for each in ids:
            vault.purge(each)
        is_erased = vault.erase()
        forget_staged(store.memory_dir)
        past = find_past(store.memory_dir, ids)
    hub = places_at_hub(settings().home, ids)
    if as_json:
        facts = {"purged": ids, "is_erased": is_erased, "git": asdict(past)}
        print_json({**facts, "hub": [each._asdict() for each in hub]})
        return
    for each in ids:
        click.echo(f"Purged: {each}")
    _print_remains(is_erased, past)
    for note, url, space in hub:
        click.echo(
            f"anamnesis: {url} has {note} in the space {space}. The next sync deletes it there; earlier versions stay"
            f" until an owner of the space erases them: anamnesis hub erase note {space} {note}",
            err=True,
        )


def _known_id(store: MemoryStore, given: str) -> str:
    """The full id of a note in any state; a purged note may be purged again."""
    from anamnesis.store.tombstones import is_purged

    found = resolve_note(store, given, deleted=True).id
    try:
        if store.find(found) or is_purged(store.root, found) or any(each.id == found for each in store.trashed()):
            return found
    except InvalidNote:  # its file exists, but is unreadable
        return found
    raise NoteNotFound(f"No note has the id {given}.", "`anamnesis list` and `anamnesis restore` show the ids.")


def _confirm(store: MemoryStore, ids: Sequence[str]) -> None:
    from anamnesis.store.deleted import deleted_notes

    titles = {each.id: each.title for each in deleted_notes(store)}
    names = []
    for each in ids:
        file = store.file(each)
        names.append(
            ResolvedNote(each, file.memory.title if file and file.memory else titles.get(each, ""), is_guess=False)
        )
    them = "it" if len(ids) == 1 else "them"
    question = f"Remove {these(len(ids), 'note')} permanently? Nothing can restore {them}."
    ask(names, question, "A purge cannot be undone, and there is no terminal to confirm it on.", "Add --yes to purge.")


def _print_remains(is_erased: bool, past: Past) -> None:
    """Print where purged text remains, and how to remove it."""
    if not is_erased:
        click.echo(
            "anamnesis: Another program is using a database whose file may still hold words of the notes. A daemon"
            " erases them when it is idle; otherwise, run this command again.",
            err=True,
        )
    if past.commits:
        held = counted(past.commits, "commit holds", "commits hold")
        pushed = ", and some were pushed to the remote" if past.is_pushed else ""
        click.echo(f"anamnesis: In git's history, {held} the text still{pushed}. To rewrite that history:", err=True)
        for each in past.commands:
            click.echo(f"    {each}", err=True)
        if past.is_pushed:
            click.echo(
                "anamnesis: Before any other machine syncs again, move its memory folder away: its next sync gets the"
                " rewritten history, while the old folder would push the old one.",
                err=True,
            )
