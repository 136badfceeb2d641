"""Writes a note for an agent if the gate allows it: finds the notes that it may repeat, and records the decision.

A note is refused only after its text is in the log; a note that cannot be recorded or compared is written.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from anamnesis.dream.dream_database import DreamDatabase
from anamnesis.dream.gate import MOST_DIRECTIVES, Verdict, judge
from anamnesis.errors import AnamnesisError, InvalidArgument
from anamnesis.notes import Memory, validate
from anamnesis.notes.foreign import unaccepted
from anamnesis.notes.marks import HELD, hold, marks_of, with_mark
from anamnesis.notes.spaces import space_of
from anamnesis.store import MemoryStore
from anamnesis.store.gate_log import GateDecision
from anamnesis.store.ids import UlidMaker, utcnow
from anamnesis.store.placing import without_secrets
from anamnesis.store.repeating import may_repeat

_MINUTE = 60.0
_FAILURES = (AnamnesisError, OSError, sqlite3.Error)
_HINT = "`anamnesis dream gate --log` lists the decisions."
_FIELDS = (
    *("type", "title", "body", "project", "machine_id", "tags", "scope"),
    *("prov_source", "prov_model", "prov_session", "confidence", "extra"),
)
_NOT_JUDGED = Verdict("allow", "new", "It could not be compared with other notes.")


class Admission(NamedTuple):
    """The gate's decision, the note as it is now (None if none was written), and the number of the log's entry."""

    verdict: Verdict
    note: Memory | None
    number: int


def admit(store: MemoryStore, fields: dict[str, Any], session: str = "") -> Admission:
    """Write a note with these fields of `MemoryStore.write`, or do what the gate decides instead."""
    draft = drafted(**fields)
    with store._catalogue.alone():  # of two simultaneous writes of the same text, the second must find the first
        verdict, note = carry_out(store, judged(store, draft, session), draft, fields)
    named = note or verdict.note
    facts = {"note_id": named.id if named else "", "session": session}
    number = 0
    try:
        number = store.decisions.record(draft, verdict.decision, verdict.rule, verdict.reason, **facts)
    except _FAILURES:
        if note is None:
            verdict, note = _NOT_JUDGED, store.write(**fields)
    return Admission(verdict, note, number)


def judged(store: MemoryStore, draft: Memory, session: str = "") -> Verdict:
    """The gate's decision about a note that `session` wants to write."""
    log = store.decisions
    try:
        verdict = judge(
            draft,
            accepted(store, may_repeat(store, draft)),
            directives=len(store.live(log.allowed(draft.project, "directive", MOST_DIRECTIVES))),
            written=log.written_since(session, time.time() - _MINUTE) if session else 0,
        )
        if verdict.note and space_of(draft) not in ("", space_of(verdict.note)):
            return Verdict("allow", "new", "The note that says the same is in another space.")
        if verdict.decision == "upsert" and verdict.note and _is_by_hand(store, verdict.note.id):
            return Verdict("allow", "new", "A person has edited the note that says nearly the same.")
    except _FAILURES:
        return _NOT_JUDGED
    return verdict


def accepted(store: MemoryStore, notes: Sequence[Memory]) -> list[Memory]:
    """The notes that may stand for what an agent writes."""
    doubted = unaccepted(store.origins(notes))
    return [note for note in notes if note.id not in doubted]


def accept(store: MemoryStore, number: int) -> Memory:
    """Write a note that the gate refused, because a person accepts it."""
    draft = _entry(store, number).draft
    if draft is None:
        raise InvalidArgument(f"The gate did not refuse the note of entry {number}.", _HINT)
    note = store.write(**{name: getattr(with_mark(draft, HELD, ""), name) for name in _FIELDS})
    store.decisions.accept(number, note.id)
    return note


def forget(store: MemoryStore, number: int) -> None:
    """Remove an entry of the log, also from its file."""
    store.decisions.drop(_entry(store, number).id)
    store.decisions.erase()


def _entry(store: MemoryStore, number: int) -> GateDecision:
    found = store.decisions.find(number)
    if found is None:
        raise InvalidArgument(f"The log of the gate has no entry {number}.", _HINT)
    return found


def drafted(**fields: Any) -> Memory:
    """The note with these fields of `MemoryStore.write`, without secrets; raises if it cannot be stored."""
    now = utcnow()
    draft = without_secrets(Memory(UlidMaker().next(), **fields, created_at=now, updated_at=now))
    validate(draft)
    return draft


def _is_by_hand(store: MemoryStore, note_id: str) -> bool:
    with contextlib.closing(DreamDatabase(store.root)) as database:
        return note_id in database.by_hand([note_id])


def carry_out(
    store: MemoryStore, verdict: Verdict, draft: Memory, fields: dict[str, Any]
) -> tuple[Verdict, Memory | None]:
    """Carry out a decision; a note that has changed since the decision is left alone."""
    if verdict.decision == "reject":
        return verdict, None
    if verdict.decision == "upsert" and (old := verdict.note):
        changes: dict[str, Any] = {"title": draft.title, "body": draft.body}
        changes["tags"] = [*dict.fromkeys([*old.tags, *draft.tags])]
        if reason := marks_of(draft).get(HELD):
            changes["extra"] = with_mark(old, HELD, reason).extra
        try:
            return verdict, store.update(old.id, expected=old, **changes)
        except AnamnesisError:
            verdict = Verdict("allow", "new", "The note that says nearly the same has just been changed.")
    if verdict.decision == "redirect":
        agent = draft.prov_session.rpartition("/")[0]
        reason = marks_of(draft).get(HELD) or hold(verdict.reason.partition(". ")[0], agent)
        return verdict, store.write(**{**fields, "extra": with_mark(draft, HELD, reason).extra})
    return verdict, store.write(**fields)
