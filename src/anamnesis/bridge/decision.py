"""Decides how a note and an observation are reconciled when one or both have changed. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from anamnesis.bridge.journal import UNKNOWN, Twin
from anamnesis.bridge.mapping import fingerprint, is_copy, settled
from anamnesis.engram.clean import Clean, cleaned
from anamnesis.engram.record import Observation
from anamnesis.notes import Memory, parse
from anamnesis.notes.merge import merge
from anamnesis.notes.spaces import space_of
from anamnesis.store.files import NoteFile


@dataclass(frozen=True, slots=True)
class Pair:
    """The two sides as they are now, and as they last agreed; None for a missing one."""

    note_id: str
    note: Memory | None
    note_hash: bytes | None
    row: Observation | None
    twin: Twin | None
    # The versions of the observation since then, the oldest first, if it has changed.
    versions: tuple[Observation, ...] = ()
    file: NoteFile | None = None
    # Another member of a team wrote it, so its fields are not put in order here: that would be an edit of theirs.
    is_of_others: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """The two sides as they should be; `aside` is a version that could not be merged."""

    note: Memory | None
    row: Observation | None
    aside: Memory | None = None


@dataclass(frozen=True, slots=True)
class Translation:
    """How each side is converted to the other, on this machine and now."""

    note: Callable[[Observation, Memory | None, str], Memory]
    row: Callable[[Memory, Observation | None], Observation]
    clean: Clean
    now: str


def decide(pair: Pair, as_: Translation) -> Outcome:
    """If one side changed, it wins. If both did, they are merged, and nothing is lost.

    Fields that do not fit the note, as after an edit by hand, are changed on both sides.
    """
    outcome = _decided(pair, as_)
    if outcome.note is None or outcome.row is None:
        return outcome
    note = settled(outcome.note, pair.twin.front if pair.twin else "")
    if note is outcome.note:
        return outcome
    return replace(outcome, note=outcome.note if pair.is_of_others else note, row=as_.row(note, pair.row))


def claims_topic(pair: Pair, outcome: Outcome) -> bool:
    """Whether a note gives its row a topic key that the row did not have: Engram's own rows may share theirs."""
    return _topic(outcome.row) not in (None, _topic(pair.row))


def with_one_row_a_topic(decided: Sequence[tuple[Pair, Outcome]]) -> list[tuple[Pair, Outcome]]:
    """These with each topic key that a note claims at one live row of the project and space: the last updated one,
    which Engram revises.

    One that comes back or is a copy gives way to those that were there. Notes of others keep theirs.
    """
    claims: dict[object, list[tuple[Pair, Outcome]]] = {}
    for pair, outcome in decided:
        if outcome.note and _topic(outcome.row) and not pair.is_of_others:
            topic = _topic(outcome.row), outcome.note.project, space_of(outcome.note)
            claims.setdefault(topic, []).append((pair, outcome))
    losing: set[str] = set()
    for claiming in claims.values():
        if any(claims_topic(*each) for each in claiming):
            winner, _ = max(sorted(claiming, key=lambda claim: claim[0].note_id), key=_claim)
            losing |= {pair.note_id for pair, _ in claiming} - {winner.note_id}
    return [(pair, _without_topic(outcome) if pair.note_id in losing else outcome) for pair, outcome in decided]


def _topic(row: Observation | None) -> tuple[str, str, str] | None:
    """The topic key of a live row, with its project and scope."""
    return (row.topic_key, row.project or "", row.scope) if row and row.topic_key and not row.deleted_at else None


def _claim(claim: tuple[Pair, Outcome]) -> tuple[bool, str, bool]:
    pair, outcome = claim
    comes_back = bool(pair.row and pair.row.deleted_at)
    gives_way = comes_back or bool(pair.note and is_copy(pair.note))
    return not gives_way, outcome.row.updated_at if outcome.row else "", pair.row is not None


def _without_topic(outcome: Outcome) -> Outcome:
    note, row = outcome.note, outcome.row
    if note:
        note = replace(note, engram={name: value for name, value in note.engram.items() if name != "topic_key"})
    return replace(outcome, note=note, row=row and replace(row, topic_key=None))


def _decided(pair: Pair, as_: Translation) -> Outcome:
    is_note_as_agreed = pair.twin is not None and pair.note_hash == pair.twin.note_hash
    is_row_as_agreed = pair.twin is not None and pair.row and fingerprint(pair.row) == pair.twin.row_hash
    if is_note_as_agreed and is_row_as_agreed:
        return Outcome(pair.note, pair.row)
    if is_note_as_agreed:
        return _follow_row(pair, as_)
    if is_row_as_agreed and pair.row:
        return _follow_note(pair, pair.row, as_)
    if pair.note and pair.row:
        return _first_agreement(pair, pair.note, pair.row, as_)
    if pair.note:
        return Outcome(pair.note, None if pair.note.is_hidden else as_.row(pair.note, None))
    return _follow_row(pair, as_)


def _follow_row(pair: Pair, as_: Translation) -> Outcome:
    """The observation wins. A deleted one hides its note, but creates none; a removed one removes its note."""
    if pair.row is None:
        return Outcome(None, None)
    if pair.row.deleted_at and pair.note is None:
        return Outcome(None, pair.row)
    over = pair.note or (parse(pair.twin.front) if pair.twin else None)
    return Outcome(as_.note(pair.row, over, pair.note_id), pair.row)


def _follow_note(pair: Pair, row: Observation, as_: Translation) -> Outcome:
    """The note wins. If its file was deleted, its observation is soft-deleted, as Engram does."""
    if pair.note:
        return Outcome(pair.note, as_.row(pair.note, row))
    at = max(as_.now, row.updated_at)
    return Outcome(None, row if row.deleted_at else replace(row, deleted_at=as_.now, updated_at=at))


def _first_agreement(pair: Pair, note: Memory, row: Observation, as_: Translation) -> Outcome:
    if as_.row(note, row) == row:
        return Outcome(note, row)
    if any(as_.row(note, version) == version for version in pair.versions):
        return _follow_row(pair, as_)  # written from that version without saving the twin: the note is unchanged
    base = None
    if pair.twin and pair.twin.revision != UNKNOWN:
        base = replace(parse(pair.twin.front), body=cleaned((*pair.versions, row)[0], as_.clean).content)
    merged = merge(base, note, as_.note(row, base or note, pair.note_id))
    return Outcome(merged.note, as_.row(merged.note, row), merged.other)
