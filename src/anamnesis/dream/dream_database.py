"""dreams.db: the proposals that wait for a cycle or for a person, and the decisions about them."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from anamnesis.dream.proposal import Proposal
from anamnesis.light import blake2b
from anamnesis.notes import Memory, parse, render
from anamnesis.store.machine_database import MachineDatabase

WAITING, REVIEW, REJECTED = "waiting", "review", "rejected"
# Rejected proposals beyond this many are forgotten, the oldest first.
_MOST = 20_000
_IDENTITY = "identity"


class SavedProposal(NamedTuple):
    """A proposal in the database, with the hashes of the files in which it was found."""

    proposal: Proposal
    status: str
    seen: Mapping[str, str]
    found_at: str
    until: str
    phase: str = ""


class NewProposal(NamedTuple):
    """A proposal to be saved, with its status and the phase that found it."""

    proposal: Proposal
    status: str
    phase: str


class DreamDatabase(MachineDatabase):
    """The dreams.db of a store."""

    schema = Path(__file__).with_name("dreams.sql")
    holds = "The record of dreams"

    def __init__(self, root: Path) -> None:
        super().__init__(root / "dreams.db")

    @property
    def is_new(self) -> bool:
        """Whether no cycle has used the file yet: this is the first cycle, or the file was lost."""
        return not self.state(_IDENTITY)

    @property
    def identity(self) -> str:
        """A random id of the file: a new file makes the follower examine every note again."""
        if not (found := self.state(_IDENTITY)):
            found = os.urandom(6).hex()
            self.set_state(_IDENTITY, found)
        return found

    def state(self, name: str) -> str:
        row = self.read(lambda db: db.execute("SELECT value FROM state WHERE name = ?", (name,)).fetchone())
        return row[0] if row else ""

    def set_state(self, name: str, value: str) -> None:
        self.change(lambda db: db.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (name, value)))

    def proposals(self, *statuses: str, phases: Sequence[str] | None = None) -> list[SavedProposal]:
        """The proposals with one of these statuses, of these phases or all, the most confident first."""
        query = (
            "SELECT kind, status, reason, confidence, evidence, notes, after, seen, found_at, until, phase"
            " FROM proposals WHERE status IN (SELECT value FROM json_each(:statuses))"
            " AND (:phases IS NULL OR phase IN (SELECT value FROM json_each(:phases))) ORDER BY confidence DESC, key"
        )
        values = {"statuses": json.dumps(statuses), "phases": None if phases is None else json.dumps([*phases])}
        rows = self.read(lambda db: db.execute(query, values).fetchall())
        return [_kept(row) for row in rows or ()]

    def counts(self) -> dict[str, int]:
        """How many proposals there are of each status."""
        query = "SELECT status, count(*) FROM proposals GROUP BY status"
        return dict(self.read(lambda db: db.execute(query).fetchall()) or ())

    def statuses(self, keys: Iterable[str]) -> dict[str, str]:
        query = "SELECT key, status FROM proposals WHERE key IN (SELECT value FROM json_each(:keys))"
        return dict(self.read(lambda db: db.execute(query, {"keys": json.dumps([*keys])}).fetchall()) or ())

    def save(self, found: Sequence[NewProposal], hashes: Mapping[str, str], at: str) -> None:
        """Save proposals with their statuses; a person's rejection stays."""

        def save(db: sqlite3.Connection) -> None:
            for each in found:
                _save(db, each, {id: hashes.get(id, "") for id in involved(each.proposal)}, at)

        if found:
            self.change(save)

    def decide(self, keys: Iterable[str], status: str, until: str = "") -> None:
        query = "UPDATE proposals SET status = :status, until = :until WHERE key = :key"
        self.change(lambda db: db.executemany(query, [{"key": key, "status": status, "until": until} for key in keys]))

    def reject(self, proposals: Iterable[Mapping[str, Any]], at: str) -> None:
        """Never propose these again, whether they are in the database or not; as `dream_journal.shown` returns them."""
        rows = [{"id": each["id"], "kind": each["kind"], "notes": each["notes"]} for each in proposals]
        if rows:
            self.change(lambda db: _reject(db, rows, at))

    def doubted(self, proposals: Iterable[Proposal]) -> set[str]:
        """The keys of the proposals about two notes that a rejected proposal of the same kind had in common too."""
        wanted = {each.key: (each.kind, {*each.notes, *hidden(each)}) for each in proposals}
        rejected: dict[str, list[tuple[str, set[str]]]] = {}
        query = (
            "SELECT note_id, kind, notes FROM proposal_notes JOIN proposals USING (key) WHERE status = 'rejected'"
            " AND note_id IN (SELECT value FROM json_each(:ids))"
        )
        ids = json.dumps([*{id for _, about in wanted.values() for id in about}])
        for id, kind, notes in self.read(lambda db: db.execute(query, {"ids": ids}).fetchall()) or ():
            rejected.setdefault(id, []).append((kind, {*json.loads(notes)}))
        return {
            key
            for key, (kind, about) in wanted.items()
            if any(of in ("", kind) and len(notes & about) > 1 for id in about for of, notes in rejected.get(id, ()))
        }

    def drop(self, keys: Iterable[str]) -> None:
        """Delete proposals that were applied or are no longer valid."""
        wanted = [(key,) for key in keys]

        def drop(db: sqlite3.Connection) -> None:
            db.executemany("DELETE FROM proposal_notes WHERE key = ?", wanted)
            db.executemany("DELETE FROM proposals WHERE key = ?", wanted)

        if wanted:
            self.change(drop)

    def look_at(self, notes: Iterable[Memory], gone: Iterable[str], at: str) -> None:
        """Save the hashes of notes. A note with another text but the same time as before was edited by hand.

        Notes that were merged, here or on another machine, and separated again, are recorded so as not to merge them.
        """
        now = {note.id: note for note in notes}
        removed = [*gone]
        upsert = _SEE.format(
            by_hand="by_hand OR (updated_at = excluded.updated_at AND said <> excluded.said)",
        )

        def look(db: sqlite3.Connection) -> None:
            query = "SELECT note_id, supersedes FROM seen WHERE note_id IN (SELECT value FROM json_each(?))"
            before = dict(db.execute(query, (json.dumps([*now, *removed]),)).fetchall())
            parted = [pair for id, ids in before.items() for pair in _parted(id, json.loads(ids), now.get(id))]
            _reject(db, [{"id": Proposal("", pair, "", 0).key, "kind": "", "notes": pair} for pair in parted], at)
            db.executemany(upsert, [_seen_row(note) for note in now.values()])
            db.executemany("DELETE FROM seen WHERE note_id = ?", [(id,) for id in removed])

        self.change(look)

    def saw(self, notes: Iterable[Memory]) -> None:
        """Save the hashes of notes that a dream has written, so that they do not count as edited by hand."""
        rows = [_seen_row(note) for note in notes]
        if rows:
            self.change(lambda db: db.executemany(_SEE.format(by_hand="by_hand"), rows))

    def by_hand(self, ids: Iterable[str]) -> set[str]:
        """Those of the notes that a person has edited by hand."""
        query = "SELECT note_id FROM seen WHERE by_hand AND note_id IN (SELECT value FROM json_each(:ids))"
        return {id for (id,) in self.read(lambda db: db.execute(query, {"ids": json.dumps([*ids])}).fetchall()) or ()}

    def forget(self, ids: Iterable[str]) -> None:
        """Remove everything about purged notes."""
        from anamnesis.erasure import overwriting

        wanted = {"ids": json.dumps([*ids])}
        among = "IN (SELECT value FROM json_each(:ids))"

        def forget(db: sqlite3.Connection) -> None:
            with overwriting(db):
                keys = f"SELECT key FROM proposal_notes WHERE note_id {among}"
                db.execute(f"DELETE FROM proposals WHERE key IN ({keys})", wanted)
                db.execute(f"DELETE FROM proposal_notes WHERE key IN ({keys})", wanted)
                db.execute(f"DELETE FROM seen WHERE note_id {among}", wanted)

        if self.path.exists():
            self.change(forget)


_SEE = (
    "INSERT INTO seen (note_id, updated_at, said, supersedes) VALUES (?, ?, ?, ?) ON CONFLICT (note_id) DO UPDATE SET"
    " by_hand = {by_hand}, updated_at = excluded.updated_at, said = excluded.said, supersedes = excluded.supersedes"
)


def involved(proposal: Proposal) -> list[str]:
    """The notes that a proposal is about or writes."""
    return list(dict.fromkeys([*proposal.notes, *(note.id for note in proposal.after)]))


def hidden(proposal: Proposal) -> list[str]:
    """The notes that a proposal hides, or that its notes have superseded before."""
    return [id for note in proposal.after for id in note.superseded]


def _parted(id: str, before: Sequence[str], note: Memory | None) -> Iterator[tuple[str, str]]:
    """The pairs of notes that were merged and are separate again, because the merged note was undone or removed."""
    if note is None:
        yield from combinations(before, 2)
    else:
        yield from ((id, other) for other in before if other not in note.superseded)


def _reject(db: sqlite3.Connection, rows: Iterable[Mapping[str, Any]], at: str) -> None:
    for row in rows:
        db.execute(
            "INSERT INTO proposals (key, kind, status, reason, confidence, evidence, notes, after, seen, found_at)"
            " VALUES (:key, :kind, 'rejected', '', 0, '{}', :notes, '[]', '{}', :at)"
            " ON CONFLICT (key) DO UPDATE SET status = 'rejected', found_at = excluded.found_at",
            {"key": row["id"], "kind": row["kind"], "notes": json.dumps([*row["notes"]]), "at": at},
        )
        names = [(id, row["id"]) for id in row["notes"]]
        db.executemany("INSERT OR IGNORE INTO proposal_notes VALUES (?, ?)", names)
    rejected = "SELECT key FROM proposals WHERE status = 'rejected' ORDER BY found_at DESC, key LIMIT -1 OFFSET :most"
    for table in ("proposal_notes", "proposals"):
        db.execute(f"DELETE FROM {table} WHERE key IN ({rejected})", {"most": _MOST})


def _save(db: sqlite3.Connection, found: NewProposal, seen: Mapping[str, str], at: str) -> None:
    proposal = found.proposal
    values = {
        "key": proposal.key,
        "kind": proposal.kind,
        "phase": found.phase,
        "status": found.status,
        "reason": proposal.reason,
        "confidence": proposal.confidence,
        "evidence": json.dumps(dict(proposal.evidence)),
        "notes": json.dumps(proposal.notes),
        "after": json.dumps([render(note) for note in proposal.after]),
        "seen": json.dumps(seen),
        "found_at": at,
    }
    names = ", ".join(values)
    updated = ", ".join(f"{name} = excluded.{name}" for name in values if name not in ("key", "found_at"))
    db.execute(
        f"INSERT INTO proposals ({names}) VALUES (:{', :'.join(values)})"
        f" ON CONFLICT (key) DO UPDATE SET {updated} WHERE status <> 'rejected'",
        values,
    )
    db.executemany("INSERT OR IGNORE INTO proposal_notes VALUES (?, ?)", [(id, proposal.key) for id in seen])


def _kept(row: tuple[Any, ...]) -> SavedProposal:
    kind, status, reason, confidence, evidence, notes, after, seen, found_at, until, phase = row
    proposal = Proposal(
        kind,
        tuple(json.loads(notes)),
        reason,
        confidence,
        tuple(parse(text) for text in json.loads(after)),
        json.loads(evidence),
    )
    return SavedProposal(proposal, status, json.loads(seen), found_at, until, phase)


def _seen_row(note: Memory) -> tuple[str, str, bytes, str]:
    return note.id, note.updated_at, _said(note), json.dumps(note.superseded)


def _said(note: Memory) -> bytes:
    return blake2b(f"{note.title}\n{note.body}".encode(), digest_size=16).digest()
