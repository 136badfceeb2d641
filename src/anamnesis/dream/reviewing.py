"""The review list: the proposals that dreams leave to a person, and the person's decisions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from anamnesis.dream.dream_database import REVIEW, DreamDatabase, NewProposal, SavedProposal, involved
from anamnesis.dream.dream_journal import proposals as proposals_of
from anamnesis.dream.dream_journal import shown, write_report
from anamnesis.dream.proposal import Proposal
from anamnesis.editing import parse_edited
from anamnesis.errors import InvalidArgument
from anamnesis.notes import parse
from anamnesis.notes.authorship import as_edited
from anamnesis.store import MemoryStore, changeset
from anamnesis.store.ids import utcnow
from anamnesis.sync.worktree import without_sync

KIND = "review"
# How long a postponed proposal is not listed.
_LATER = timedelta(days=7)
_SHORTEST = 4
# How long a decision waits for a running sync.
_PATIENCE_SECONDS = 30.0


def listed(store: MemoryStore, today: date) -> list[SavedProposal]:
    """The proposals that wait for a person, the most confident first, without postponed ones."""
    with contextlib.closing(DreamDatabase(store.root)) as database:
        return [each for each in database.proposals(REVIEW) if each.until <= today.isoformat()]


def proposal_named(store: MemoryStore, given: str) -> SavedProposal | None:
    """The proposal for a person whose id begins with the given text; None if there is none."""
    with contextlib.closing(DreamDatabase(store.root)) as database:
        found = [each for each in database.proposals(REVIEW) if each.proposal.key.startswith(given.lower())]
    if len(found) > 1 and len(given) >= _SHORTEST:
        raise InvalidArgument(f"{given!r} names several proposals.", "Give more of the id.")
    return found[0] if found and len(given) >= _SHORTEST else None


def accept(store: MemoryStore, proposals: Sequence[SavedProposal]) -> changeset.Changeset:
    """Apply proposals as one change that can be undone; refuses if a note has changed since they were found."""
    _refuse_overlaps([each.proposal for each in proposals])
    with without_sync(store.memory_dir, _PATIENCE_SECONDS):
        change = changeset.apply(
            store,
            [note for each in proposals for note in each.proposal.after],
            kind=KIND,
            reason="Accepted by a person.",
            facts={
                "proposals": [shown(each.proposal) for each in proposals],
                "phases": {each.proposal.key: each.phase for each in proposals},
            },
            ready=store.ranking.embed_few,
            expected={id: hash for each in proposals for id, hash in each.seen.items()},
        )
    write_report(store, change)

    def settle(database: DreamDatabase) -> None:
        database.drop(each.proposal.key for each in proposals)
        database.saw(note for each in proposals for note in each.proposal.after)

    _on_record(store, settle)
    return change


def undo_accept(store: MemoryStore, change: changeset.Changeset) -> changeset.UndoResult:
    """Restore the notes, and list the proposals again."""
    with without_sync(store.memory_dir, _PATIENCE_SECONDS):
        outcome = changeset.undo(store, change.id)
    texts = {file.note: file.after for file in change.files if file.after}
    phases = change.facts.get("phases", {})
    found = [
        NewProposal(_proposal(each, texts), REVIEW, phases.get(each["id"], ""))
        for each in proposals_of(change)
        if texts.keys() >= {*each["after"]}
    ]
    ids = [id for each in found for id in involved(each.proposal)]
    hashes = {id: hash.hex() for id, hash in store.hashes_of(ids).items()}

    def relist(database: DreamDatabase) -> None:
        database.saw(file.memory for file in store.files(outcome.restored).values() if file.memory)
        database.save(found, hashes, utcnow())

    _on_record(store, relist)
    write_report(store, changeset.find(store, change.id))
    return outcome


def _proposal(shown: Mapping[str, Any], texts: Mapping[str, str]) -> Proposal:
    after = tuple(parse(texts[id]) for id in shown["after"])
    return Proposal(
        shown["kind"], tuple(shown["notes"]), shown["reason"], shown["confidence"], after, shown["evidence"]
    )


def _refuse_overlaps(proposals: Sequence[Proposal]) -> None:
    seen: set[str] = set()
    for each in proposals:
        about = {*each.notes, *(id for note in each.after for id in (note.id, *note.superseded))}
        if about & seen:
            raise InvalidArgument(
                f"Two of the proposals are about the same note; one is {each.key}.", "Accept them one after the other."
            )
        seen |= about


def reject(store: MemoryStore, proposals: Sequence[SavedProposal]) -> None:
    """Never propose these again."""
    _on_record(store, lambda database: database.reject([shown(each.proposal) for each in proposals], utcnow()))


def postpone(store: MemoryStore, proposals: Sequence[SavedProposal], today: date) -> None:
    """List these again in a week."""
    until = (today + _LATER).isoformat()
    _on_record(store, lambda database: database.decide((each.proposal.key for each in proposals), REVIEW, until))


def relist(store: MemoryStore, key: str) -> None:
    """Undo `reject` and `postpone`: list the proposal again."""
    _on_record(store, lambda database: database.decide([key], REVIEW))


def edited(kept: SavedProposal, texts: Mapping[str, str]) -> SavedProposal:
    """A proposal with the texts that a person gave for some of its notes, by their ids."""
    after = tuple(
        as_edited(note, parse_edited(note.id, texts[note.id])) if note.id in texts else note
        for note in kept.proposal.after
    )
    return kept._replace(proposal=replace(kept.proposal, after=after))


def _on_record(store: MemoryStore, work: Callable[[DreamDatabase], None]) -> None:
    with contextlib.closing(DreamDatabase(store.root)) as database:
        work(database)
