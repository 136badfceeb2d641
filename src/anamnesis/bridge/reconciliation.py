"""Reconciles changes: writes both sides as they should be, then saves that they agree.

A change whose reconciliation was interrupted stays pending, and both sides are found equal the next time.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from anamnesis.bridge import journal
from anamnesis.bridge.decision import Outcome, Pair, Translation, decide
from anamnesis.bridge.journal import Twin
from anamnesis.bridge.keys import Keys
from anamnesis.bridge.mapping import fingerprint, fitting, noted, observed
from anamnesis.bridge.pairing import pairs_of, row_of
from anamnesis.engram import database, observations
from anamnesis.engram.record import Observation, Origin
from anamnesis.erasure import overwriting
from anamnesis.errors import AnamnesisError, NoteNotFound
from anamnesis.log import log
from anamnesis.notes import Memory, front_of, parse, render
from anamnesis.store import MemoryStore
from anamnesis.store.change_log import Written
from anamnesis.store.files import NoteFile
from anamnesis.store.placing import readable
from anamnesis.store.purging import purge


@dataclass(slots=True)
class _Changes:
    """Changes, how they are reconciled, and in `now` the files that are already as they should be; None if removed.

    `known` maps notes to the notes that supersede them, or to None. `stuck` are the observations of notes with
    unreadable files: they stay pending until the file can be read.
    """

    rows: list[int]
    pairs: list[Pair]
    decided: list[tuple[Pair, Outcome]]
    stuck: set[int]
    now: dict[str, NoteFile | None] = field(default_factory=dict)
    known: dict[str, str | None] = field(default_factory=dict)

    @property
    def only_make_notes(self) -> bool:
        return all(pair.note is None and pair.twin is None for pair, _ in self.decided)

    def learn(self, written: Written | None) -> None:
        if written:
            self.known |= {id: written.superseding.get(id) for id in written.files}


class Reconciliation:
    """Reconciles the notes of a store with the observations of an engram.db, for one thread at a time."""

    def __init__(self, store: MemoryStore, db: sqlite3.Connection, machine_id: str, user_home: Path | None) -> None:
        self._store = store
        self._db = db
        self._keys = Keys(db, store, user_home)
        self._machine_id = machine_id

    def reconcile(
        self,
        rows: Sequence[int],
        notes: Sequence[str],
        given: Written | None = None,
        answer: Callable[[], object] | None = None,
    ) -> int:
        """Write both sides of these changes as they should be, then save that they agree; returns the number of pairs.

        Notes that were just written are passed as `given`, and not read again. `answer` is called when the notes are
        in place. Agreements are saved once the notes are durable: otherwise a note that a power failure lost would
        pass for a deleted one.
        """
        changes = self._decided(rows, notes, given)
        is_answered_first = answer is not None and changes.only_make_notes  # no earlier version can be lost
        self._write_notes(changes, durable=not is_answered_first)
        if answer:
            answer()
        if is_answered_first:
            self._store.secure(filter(None, changes.now.values()))
        self._remember(changes)
        return len(changes.pairs)

    def purge(self, note_id: str) -> None:
        """Purge a note and its observation, with all their versions. The row is removed first: an interrupted purge is
        then completed like the removal of a row."""
        file = self._store.file(note_id)
        hash = file.hash if file else None
        row_id = row_of(self._db, note_id, file.memory if file else None)
        if row_id:
            with overwriting(self._db), database.writing(self._db):
                journal.save_twins(self._db, [Twin(row_id, note_id, journal.INVALID, hash, "", 0)])
                if not observations.delete(self._db, row_id, hard=True):
                    journal.add_change(self._db, row_id)
            self.reconcile([row_id], [])
        purge(self._store, note_id, follower=journal.FOLLOWER)

    def _decided(self, rows: Sequence[int], notes: Sequence[str], given: Written | None) -> _Changes:
        with database.reading(self._db):
            pairs, stuck = pairs_of(self._db, self._store, rows, notes, given.files if given else {})
            origins = journal.origins(self._db, [pair.row.id for pair in pairs if pair.row])
        decided: list[tuple[Pair, Outcome]] = []
        as_ = self._translation(origins)
        for pair in pairs:
            try:
                decided.append((pair, decide(pair, as_)))
            except (AnamnesisError, TypeError, ValueError) as error:  # one inconvertible pair must not stop the others
                self._log(pair.note_id, error)
        changes = _Changes([*rows], pairs, decided, {*stuck} - {*rows})
        changes.learn(given)
        return changes

    def _write_notes(self, changes: _Changes, *, durable: bool) -> None:
        """Write and remove files."""
        former = {pair.note_id: pair.file for pair, _ in changes.decided if pair.file}
        wanted: list[Memory] = []
        for pair, outcome in changes.decided:
            if outcome.aside and not self._set_aside(outcome.aside):
                continue
            if _is_gone_for_good(pair, outcome):
                if self._purge(pair.note_id):
                    changes.now[pair.note_id] = None
            elif outcome.note == pair.note:
                changes.now[pair.note_id] = pair.file
            elif outcome.note:
                if _is_of_another(pair) and self._remove(pair.note_id):
                    del former[pair.note_id]
                wanted.append(outcome.note)
        self._put(changes, wanted, former, durable=durable)

    def _remember(self, changes: _Changes) -> None:
        """Write observations, and save the twins as both sides are now."""
        superseding = self._superseding(changes)
        paired = {_number(pair) for pair in changes.pairs}
        is_purging = any(_is_gone_for_good(*each) for each in changes.decided)
        with overwriting(self._db) if is_purging else nullcontext(), database.writing(self._db):
            present = journal.observations(self._db, {*changes.rows, *paired} - {0})
            agreed: list[Twin] = []
            for pair, outcome in changes.decided:
                if pair.note_id not in changes.now:
                    continue
                file = changes.now[pair.note_id]
                if present.get(_number(pair)) == pair.row:
                    agreed += self._agree(pair, outcome, file)
                elif file and pair.row and pair.twin is None and outcome.row == pair.row:
                    # The row changed after it was read. That change is pending; save the version the note agrees with.
                    journal.save_former_twin(self._db, _twin(pair.row, file), pair.row)
            journal.save_twins(self._db, agreed)
            for id in changes.stuck:
                journal.add_change(self._db, id)
            journal.supersede(self._db, superseding)
            if gone := {*changes.rows} - present.keys():
                journal.forget_changes(self._db, *(gone - paired))
                journal.forget_gone(self._db, gone)

    def _set_aside(self, note: Memory) -> bool:
        """Keep a version as an ordinary note: a pending change, which becomes an observation."""
        try:
            self._store.put(note)
        except AnamnesisError as error:
            self._log(note.id, error)
            return False
        return True

    def _put(self, changes: _Changes, notes: list[Memory], former: Mapping[str, NoteFile], *, durable: bool) -> None:
        """Write notes in one batch, or one by one if that fails, and record those that were written."""
        try:
            saved = self._store.put_whole(notes, former, follower=journal.FOLLOWER, durable=durable)
        except AnamnesisError as error:
            if len(notes) == 1:
                self._log(notes[0].id, error)
            for note in notes if len(notes) > 1 else ():
                self._put(changes, [note], former, durable=durable)
        else:
            changes.now |= {file.memory.id: file for file in saved.files if file.memory}
            changes.learn(saved.written)

    def _remove(self, note_id: str) -> bool:
        """Move a note to the trash, from every file that holds it."""
        try:
            while True:
                self._store.delete(note_id, follower=journal.FOLLOWER)
        except NoteNotFound:
            return True
        except AnamnesisError as error:
            self._log(note_id, error)
            return False

    def _purge(self, note_id: str) -> bool:
        """Purge a note whose observation was removed."""
        try:
            purge(self._store, note_id, follower=journal.FOLLOWER)
        except AnamnesisError as error:
            self._log(note_id, error)
            return False
        return True

    def _agree(self, pair: Pair, outcome: Outcome, file: NoteFile | None) -> Iterator[Twin]:
        """Write the observation as it should be; yields the agreement, for `save_twins`."""
        row, before = outcome.row, pair.row
        if outcome.replaced and outcome.replaced != before:
            journal.save_row(self._db, outcome.replaced, before)
            before = outcome.replaced
        if row and row != before:
            row = replace(row, id=journal.save_row(self._db, row, before))
        if pair.twin:
            journal.forget_twin(self._db, pair.twin)
        if row and file:
            yield _twin(row, file)
        elif row and pair.twin:
            yield replace(pair.twin, observation_id=row.id, row_hash=fingerprint(row), note_hash=None)
        elif row:
            journal.forget_changes(self._db, row.id)

    def _superseding(self, changes: _Changes) -> dict[str, str | None]:
        """Which note supersedes each of these notes, and each note that one of these superseded before or does now."""
        changed = [(pair, changes.now[pair.note_id]) for pair in changes.pairs if pair.note_id in changes.now]
        notes = [file.memory for _, file in changed if file and file.memory]
        others = {id for note in notes for id in note.superseded}
        others |= {id for pair, _ in changed for id in _superseded_by_then(pair)}
        ids = {*others, *(pair.note_id for pair, _ in changed)}
        unknown = ids - changes.known.keys()
        known = {id: by for id in ids if (by := changes.known.get(id))}
        return dict.fromkeys(others) | known | (self._store.superseding(unknown) if unknown else {})

    def _log(self, note_id: str, error: Exception) -> None:
        log(self._store.root, "bridge failed", note=note_id, reason=str(error))

    def _translation(self, origins: Mapping[int, Origin]) -> Translation:
        return Translation(
            note=partial(
                noted,
                key_of=partial(self._keys.of, folders={}),
                machine_id=self._machine_id,
                clean=fitting,
                origins=origins,
            ),
            row=partial(observed, clean=fitting),
            clean=fitting,
            now=time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime()),
        )


def _twin(row: Observation, file: NoteFile) -> Twin:
    note = readable(file)
    return Twin(row.id, note.id, fingerprint(row), file.hash, file.front or front_of(note, render(note)), 0)


def _number(pair: Pair) -> int:
    """The row id of the observation, even if it was removed; 0 if there was none."""
    return pair.row.id if pair.row else pair.twin.observation_id if pair.twin else 0


def _is_of_another(pair: Pair) -> bool:
    """Whether the note's observation was removed, and another one with its sync id was added."""
    twin, row = pair.twin, pair.row
    return bool(twin and row and pair.note and twin.observation_id != row.id and twin.note_hash == pair.note_hash)


def _is_gone_for_good(pair: Pair, outcome: Outcome) -> bool:
    """Whether the observation of a note was removed, not soft-deleted; False if the note never had one."""
    return pair.twin is not None and outcome == Outcome(None, None)


def _superseded_by_then(pair: Pair) -> list[str]:
    front = pair.twin.front if pair.twin else ""
    return parse(front).superseded if "supersedes:" in front else []
