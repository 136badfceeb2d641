"""`anamnesis review`: lists and decides what waits for a person: imported notes and proposals of dreams."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

import click

from anamnesis.cli.naming import resolve_notes
from anamnesis.cli.options import as_json, note_id, open_store, yes_option
from anamnesis.cli.output import bare_table, console, draw_diff, in_a_line, on_terminal, print_json, print_lines
from anamnesis.dream import reviewing
from anamnesis.dream.dream_database import SavedProposal
from anamnesis.dream.dream_journal import shown
from anamnesis.errors import InvalidArgument
from anamnesis.history.diffs import diff, text_of
from anamnesis.notes import Memory, as_dict
from anamnesis.notes.foreign import Origin, shown_origin
from anamnesis.plural import counted
from anamnesis.review import accept, accept_all, check_reject, reject, waiting
from anamnesis.store import MemoryStore

_PREVIEW = 300
_DONE = {"accept": "Accepted", "reject": "Rejected", "later": "Later"}


class _Items(NamedTuple):
    """Imported notes and proposals that wait for a decision."""

    notes: Sequence[Memory]
    proposals: Sequence[SavedProposal]
    origins: Mapping[str, Origin]

    def as_json(self) -> list[dict[str, Any]]:
        proposals = [shown(each.proposal, "review") for each in self.proposals]
        return [*proposals, *(as_dict(note) | shown_origin(self.origins, note) for note in self.notes)]

    def source(self, note: Memory) -> str:
        """Where a note comes from."""
        return self.origins[note.id].source if note.id in self.origins else note.machine_id


@click.command()
@note_id("ids", metavar="[ID]...", nargs=-1)
@click.option("--all", "are_all", is_flag=True, help="Everything that waits.")
@click.option("--accept", "decision", flag_value="accept", help="Apply proposals; let notes be injected.")
@click.option("--reject", "decision", flag_value="reject", help="Never propose these again; delete notes.")
@click.option("--later", "decision", flag_value="later", help="List the proposal again in a week.")
@yes_option
@as_json
def command(ids: tuple[str, ...], are_all: bool, decision: str | None, yes: bool, as_json: bool) -> None:
    """List proposals of dreams, imported notes and notes of teammates that wait for you, or decide about them.

    A dream only proposes uncertain changes, and changes to notes that you wrote, edited or pinned. With an ID alone, a
    proposal is shown with its diff. `anamnesis dream undo` undoes an accepted proposal; a rejected one is not proposed
    again.

    No session is told these notes before their review, except for imported ones in their project, with their origin;
    searches find them. Until then they hide none of yours: what they supersede is found and told as before.
    You accept a text: a note that somebody else changes waits again, and one that you edit is accepted. This holds on
    all of your machines, and not for your team. A teammate's note cannot be rejected, because it would be deleted for
    the whole team: `--all --reject` skips it. A rejected note goes to the trash; `anamnesis restore ID` restores it. ID
    is that of a proposal or its beginning, or a note as in `anamnesis show`; if it is a guess, the command asks first,
    as `anamnesis delete` does.

    \b
    In a pipe: id, where it came from or its kind, project or confidence, title or reason.
    JSON: what waits, or what was decided: proposals as in dream, with "status": "review", and notes as in show.
    """
    if decision and not (ids or are_all):
        raise click.UsageError("Give the ID to decide about, or --all.")
    if are_all and not decision:
        raise click.UsageError("Give --all together with --accept, --reject or --later.")
    with open_store() as store:
        found = _named(store, ids, decision, yes) if ids else _waiting(store)
        diffs = [*_diffs(store, found.proposals)] if ids and not decision else []
        if decision:
            found = _rejectable(store, found, skip=not ids) if decision == "reject" else found
            found = _decide(store, found, decision)
    if as_json:
        print_json(found.as_json())
    elif decision:
        _print_decided(found, decision)
    elif on_terminal():
        _draw(found)
    else:
        _print(found)
    if not as_json:
        for each in diffs:
            draw_diff(each)


def _waiting(store: MemoryStore) -> _Items:
    found = waiting(store)
    return _Items(found, reviewing.listed(store, date.today()), store.origins(found))


def _named(store: MemoryStore, ids: Iterable[str], decision: str | None, yes: bool) -> _Items:
    """The proposals, or else the notes, that the arguments name."""
    proposals = {id: reviewing.proposal_named(store, id) for id in ids}
    verb = decision.capitalize() if decision else "Show"
    notes = resolve_notes(store, [id for id, proposal in proposals.items() if proposal is None], verb, yes)
    return _Items(notes, [proposal for proposal in proposals.values() if proposal], store.origins(notes))


def _rejectable(store: MemoryStore, found: _Items, *, skip: bool) -> _Items:
    """The items that can be rejected; raises for the first note that cannot, or skips it with a message."""
    notes = []
    for note in found.notes:
        try:
            notes.append(check_reject(store, note.id))
        except InvalidArgument as error:
            if not skip:
                raise
            click.echo(f"Skipped: {error}", err=True)
    return found._replace(notes=notes)


def _decide(store: MemoryStore, found: _Items, decision: str) -> _Items:
    if decision == "later":
        if found.notes:
            raise InvalidArgument(f"The note {found.notes[0].id} waits until it is accepted or rejected.")
        reviewing.postpone(store, found.proposals, date.today())
        return found
    if found.proposals:
        (reviewing.accept if decision == "accept" else reviewing.reject)(store, found.proposals)
    if decision == "accept" and len(found.notes) > 1:
        return found._replace(notes=accept_all(store, [note.id for note in found.notes]))
    decide = accept if decision == "accept" else reject
    return found._replace(notes=[decide(store, note.id) for note in found.notes])


def _diffs(store: MemoryStore, proposals: Iterable[SavedProposal]) -> Iterable[str]:
    """The changes of each proposal."""
    for each in proposals:
        for note in each.proposal.after:
            yield diff(text_of(store.find(note.id)), text_of(note), (f"{note.id} now", f"{note.id} then"))


def _print_decided(found: _Items, decision: str) -> None:
    for each in found.proposals:
        click.echo(f"{_DONE[decision]}: {each.proposal.key} ({in_a_line(each.proposal.reason)})")
    for note in found.notes:
        click.echo(f"{_DONE[decision]}: {note.id} ({in_a_line(note.title)})")


def _print(found: _Items) -> None:
    for each in found.proposals:
        proposal = each.proposal
        print_lines([(proposal.key, proposal.kind, f"{proposal.confidence:.2f}", proposal.reason)])
    print_lines([(note.id, found.source(note), note.project, note.title) for note in found.notes])


def _draw(found: _Items) -> None:
    from rich.table import Column
    from rich.text import Text

    screen = console()
    if found.proposals:
        table = bare_table(Column("proposal", no_wrap=True), "kind", "sure", Column("why", ratio=1))
        for each in found.proposals:
            proposal = each.proposal
            key = Text(proposal.key, "cyan")
            table.add_row(key, proposal.kind, f"{proposal.confidence:.0%}", in_a_line(proposal.reason))
        screen.print(table)
    if found.notes:
        folded = (Column(name, overflow="fold") for name in ("from", "project"))
        table = bare_table(Column("id", no_wrap=True), *folded, Column("what it says", ratio=1))
        for note in found.notes:
            says = Text.assemble((in_a_line(note.title), "bold"), f"\n{in_a_line(note.body[:_PREVIEW])}")
            table.add_row(Text(note.id, "cyan"), found.source(note), note.project, says)
        screen.print(table)
    total = len(found.notes) + len(found.proposals)
    hint = "; `anamnesis review ID` shows one, and `--accept`, `--reject` or `--later` decides" if total else ""
    screen.print(f"{counted(total, 'waits', 'wait')} for a review{hint}", style="dim")
