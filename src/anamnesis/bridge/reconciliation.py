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
from anamnesis.bridge.decision import Outcome, Pair, Translation, claims_topic, decide, with_one_row_a_topic
from anamnesis.bridge.journal import Twin
from anamnesis.bridge.keys import Keys
from anamnesis.bridge.mapping import fingerprint, fitting, note_id_of, noted, observed
from anamnesis.bridge.pairing import pairs_of, row_of
from anamnesis.engram import database, observations
from anamnesis.engram.record import Observation, Origin
from anamnesis.engram.sync_queue import enqueue_observations
from anamnesis.erasure import overwriting
from anamnesis.errors import AnamnesisError, NoteNotFound
from anamnesis.log import log
from anamnesis.notes import Memory, front_of, parse, render
from anamnesis.store import MemoryStore
from anamnesis.store.change_log import Written
from anamnesis.store.files import NoteFile
from anamnesis.store.placing import readable
from anamnesis.store.purging import purge

Placed = Callable[[list[NoteFile]], object]


@dataclass(slots=True)
class Changes:
    """Changes, how they are reconciled, and in `now` the files that are already as they should be; None if removed.

    `seen` is the last change of an observation when they were read, if there were any. `known` maps notes to the notes
    that supersede them, or to None. `stuck` are the observations of notes with unreadable files: they stay pending
    until the file can be read.
    """

    rows: list[int]
    pairs: list[Pair]
    decided: list[tuple[Pair, Outcome]]
    stuck: set[int]
    seen: int
    now: dict[str, NoteFile | None] = field(default_factory=dict)
    known: dict[str, str | None] = field(default_factory=dict)
    are_new: bool = False  # added by this process, and never seen by another

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

    def reconcile(self, rows: Sequence[int], notes: Sequence[str], given: Written | None = None) -> int:
        """Write both sides of these changes as they should be, then save that they agree; returns the number of pairs.

        Notes that were just written are passed as `given`, and not read again. Agreements are saved once the notes are
        durable: otherwise a note that a power failure lost would pass for a deleted one.
        """
        changes = self.decided(rows, notes, given)
        self.write_notes(changes)
        self.remember([changes])
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

    def decided_of_new(self, added: Mapping[int, Observation], since: int) -> Changes:
        """How to reconcile observations that were just added, each by one change after `since`.

        Nobody else knows their random sync ids: there are no notes, twins or origins to look for.
        """
        pairs = [Pair(note_id_of(row.sync_id, row.created_at), None, None, row, None) for row in added.values()]
        return replace(self._decide(pairs, {}, [*added], since + len(added)), are_new=True)

    def decided(self, rows: Sequence[int], notes: Sequence[str] = (), given: Written | None = None) -> Changes:
        """The current state of these changes, and how to reconcile them."""
        with database.reading(self._db):
            pairs, stuck = pairs_of(self._db, self._store, rows, notes, given.files if given else {})
            seen = journal.last_change(self._db) if any(map(_number, pairs)) else 0
            origins = journal.origins(self._db, [pair.row.id for pair in pairs if pair.row])
        shared = self._store.shared.of(pair.note_id for pair in pairs) if self._store.has_shared else {}
        others = {id for id, each in shared.items() if not each.is_own}
        pairs = [replace(pair, is_of_others=pair.note_id in others) for pair in pairs] if others else pairs
        changes = self._decide(pairs, origins, [*rows], seen)
        claiming = [outcome.row for pair, outcome in changes.decided if outcome.row and claims_topic(pair, outcome)]
        known = {*rows, *(pair.row.id for pair in pairs if pair.row)}
        if claiming and (rivals := journal.of_same_topics(self._db, claiming) - known):
            return self.decided([*rows, *rivals], notes, given)  # one of them may have to give its topic key up
        changes.decided = with_one_row_a_topic(changes.decided)
        changes.stuck = {*stuck} - {*rows}
        changes.learn(given)
        return changes

    def _decide(self, pairs: list[Pair], origins: Mapping[int, Origin], rows: list[int], seen: int) -> Changes:
        decided: list[tuple[Pair, Outcome]] = []
        as_ = self._translation(origins)
        for pair in pairs:
            try:
                decided.append((pair, decide(pair, as_)))
            except (AnamnesisError, TypeError, ValueError) as error:  # one inconvertible pair must not stop the others
                self._log(pair.note_id, error)
        return Changes(rows, pairs, decided, set(), seen)

    def write_notes(self, changes: Changes, placed: Placed | None = None) -> None:
        """Write and remove files. `placed` gets those that are in place but neither flushed nor indexed."""
        former = {pair.note_id: pair.file for pair, _ in changes.decided if pair.file or changes.are_new}
        wanted: list[Memory] = []
        unsaved: list[NoteFile] = []  # an interrupted process may have written them without a flush
        for pair, outcome in changes.decided:
            if outcome.aside and not self._set_aside(outcome.aside):
                continue
            if _is_gone_for_good(pair, outcome):
                if self._purge(pair.note_id):
                    changes.now[pair.note_id] = None
            elif outcome.note == pair.note:
                changes.now[pair.note_id] = pair.file
                unsaved += [pair.file] if pair.file and pair.row and not pair.twin else []
            elif outcome.note:
                if _is_of_another(pair) and self._remove(pair.note_id):
                    del former[pair.note_id]
                wanted.append(outcome.note)
        if unsaved:
            self._store.secure(unsaved)
        self._put(changes, wanted, former, placed)

    def remember(self, reconciled: Sequence[Changes]) -> None:
        """Write observations, and save the agreements of both sides."""
        superseding = {id: by for changes in reconciled for id, by in self._superseding(changes).items()}
        is_purging = any(_is_gone_for_good(*each) for changes in reconciled for each in changes.decided)
        with overwriting(self._db) if is_purging else nullcontext(), database.writing(self._db):
            since = min(changes.seen for changes in reconciled)
            last = journal.changed(self._db, since) if since else {}
            agreed: list[Twin] = []
            for changes in reconciled:
                for pair, outcome in changes.decided:
                    if pair.note_id in changes.now:
                        is_current = last.get(_number(pair), 0) <= changes.seen
                        agreed += self._agree(pair, outcome, changes.now[pair.note_id], is_current=is_current)
            journal.save_twins(self._db, agreed)
            journal.supersede(self._db, superseding)
            for changes in reconciled:
                for id in changes.stuck:
                    journal.add_change(self._db, id)
                self._forget_gone(changes)

    def supersede_as_decided(self) -> None:
        """Set or clear which observations are superseded by those of notes that the user may not have accepted."""
        ids = {id for note in self._store.hiders_in_doubt() for id in note.superseded}
        if ids:
            with database.writing(self._db):
                journal.supersede(self._db, dict.fromkeys(ids) | self._store.superseding(ids))

    def _forget_gone(self, changes: Changes) -> None:
        """Clear the changes of observations that were removed."""
        if missing := {*changes.rows} - {pair.row.id for pair in changes.pairs if pair.row}:
            gone = missing - journal.observations(self._db, missing).keys()
            journal.forget_changes(self._db, *(gone - {_number(pair) for pair in changes.pairs}))
            journal.forget_gone(self._db, gone)

    def _set_aside(self, note: Memory) -> bool:
        """Keep a version as an ordinary note: a pending change, which becomes an observation."""
        try:
            self._store.put(note)
        except AnamnesisError as error:
            self._log(note.id, error)
            return False
        return True

    def _put(
        self,
        changes: Changes,
        notes: list[Memory],
        former: Mapping[str, NoteFile | None],
        placed: Placed | None = None,
    ) -> None:
        """Write notes in one batch, or one by one if that fails, and record those that were written."""
        try:
            saved = self._store.put_whole(notes, former, follower=journal.FOLLOWER, placed=placed)
        except AnamnesisError as error:
            if len(notes) == 1:
                self._log(notes[0].id, error)
            for note in notes if len(notes) > 1 else ():
                self._put(changes, [note], former)
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

    def _agree(self, pair: Pair, outcome: Outcome, file: NoteFile | None, *, is_current: bool) -> Iterator[Twin]:
        """Write the observation, unless it has changed since it was read; yields the agreement, for `save_twins`."""
        row, before = outcome.row, pair.row
        if not is_current:  # its change is pending
            if file and before and pair.twin is None and row == before:
                journal.save_former_twin(self._db, _twin(before, file), before)
            return
        if row and row != before:
            row = replace(row, id=journal.save_row(self._db, row, before))
        elif row and pair.twin and journal.is_machine_local(pair.twin):  # may have become portable
            enqueue_observations(self._db, [row])
        if pair.twin:
            journal.forget_twin(self._db, pair.twin)
        if row and file:
            yield _twin(row, file)
        elif row and pair.twin:
            yield replace(pair.twin, observation_id=row.id, row_hash=fingerprint(row), note_hash=None)
        elif row:
            journal.forget_changes(self._db, row.id)

    def _superseding(self, changes: Changes) -> dict[str, str | None]:
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
        now = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
        return Translation(
            note=partial(
                noted,
                key_of=partial(self._keys.of, folders={}),
                machine_id=self._machine_id,
                clean=fitting,
                origins=origins,
            ),
            row=partial(observed, clean=fitting, now=now),
            clean=fitting,
            now=now,
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
