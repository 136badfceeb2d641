"""The bridge: what changed on one side of the memory is brought to the other. Knows no format.

Writing through a door and reconciling are the same: journals tell what changed, and each change is taken over with its
twin looked at. Whatever is interrupted is noted down still, and found to be equal the next time.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from anamnesis.bridge import journal
from anamnesis.bridge.decision import Outcome, Pair, Translation, decide, front_of
from anamnesis.bridge.journal import Twin
from anamnesis.bridge.keys import Keys
from anamnesis.bridge.mapping import fingerprint, note_id_of, noted, observed
from anamnesis.disk import locked
from anamnesis.engram import database
from anamnesis.engram.record import Observation
from anamnesis.errors import AnamnesisError, NoteNotFound
from anamnesis.log import log
from anamnesis.notes import Memory, derived_id, writable
from anamnesis.notes.redaction import redact
from anamnesis.store import MemoryStore
from anamnesis.store.files import NoteFile

LOCK = "bridge.lock"
# So many changes are taken over at a time: others wait for these.
_BATCH = 200

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many changes of each side the other has not seen."""

    notes: int
    observations: int

    @property
    def total(self) -> int:
        return self.notes + self.observations


class Bridge:
    """Keeps the notes of a store and the observations of an engram.db in step; any number of threads may use it."""

    def __init__(self, store: MemoryStore, path: Path, machine_id: str) -> None:
        self._store = store
        self._machine_id = machine_id
        self._guard = threading.RLock()
        self._is_busy = False
        database.prepare(path)
        self._db = database.connect(path, check_same_thread=False)
        self._keys = Keys(self._db, store)
        try:
            store.track(journal.prepare(self._db))
        except BaseException:
            self._db.close()
            raise

    def close(self) -> None:
        with self._guard:
            self._db.close()

    def last_change(self) -> int:
        """A mark by which `follow` knows what has changed since."""
        with self._guard:
            return journal.last_change(self._db)

    def waiting(self) -> Waiting:
        with self._guard:
            return Waiting(len(self._store.changed()), len(journal.changed(self._db)))

    def follow(self, since: int | None = None, most: int = 10 * _BATCH) -> bool:
        """Take over what has changed, the last changes first: all since a mark, or at `most` so many; False if more.

        What cannot be taken over now is logged and stays noted down.
        """
        with self._guard:
            if self._is_busy:  # our own writing, of which the store tells us
                return True
            rows = journal.changed(self._db, since or 0, -1 if since is not None else most)
            notes = list(self._store.changed(most))
        for _ in self._take_over(rows, notes):
            pass
        return len(rows) < most and len(notes) < most

    def reconcile(self, progress: Progress | None = None, stop: Callable[[], bool] = bool) -> int:
        """Take over everything that has changed, until told to stop; how many changes there were."""
        done = 0
        seen: set[int | str] = set()
        while True:
            with self._guard:
                rows = [id for id in journal.changed(self._db) if id not in seen]
                notes = [id for id in self._store.changed() if id not in seen]
            if not rows and not notes:
                return done
            seen.update(rows, notes)
            total = done + len(rows) + len(notes)
            for count in self._take_over(rows, notes):
                done += count
                if progress:
                    progress(done, total)
                if stop():
                    return done

    def _take_over(self, rows: Sequence[int], notes: Sequence[str]) -> Iterator[int]:
        """Take these over, some at a time, and say how many they were."""
        for start in range(0, max(len(rows), len(notes)), _BATCH):
            some_rows, some_notes = rows[start : start + _BATCH], notes[start : start + _BATCH]
            with self._guard, locked(self._store.root / LOCK):
                self._is_busy = True
                try:
                    pairs = self._pairs(some_rows, some_notes)
                    self._settle(pairs, gone={*some_rows} - {pair.row.id for pair in pairs if pair.row})
                finally:
                    self._is_busy = False
            yield len(some_rows) + len(some_notes)

    def _pairs(self, rows: Sequence[int], notes: Sequence[str]) -> list[Pair]:
        """Each of these with its twin, as they are now. A file that is no note now is left for later."""
        with database.reading(self._db):
            found = self._paired(rows, notes)
            files = self._store.files({*found, *notes})
            for note_id in notes:
                if note_id not in found and (file := files.get(note_id)) and file.memory:
                    row = journal.unpaired(self._db, observed(file.memory).sync_id)
                    taken = row and any(row == other for other, _ in found.values())
                    found[note_id] = (None if taken else row, None)
            pairs = []
            for note_id, (row, twin) in found.items():
                file = files.get(note_id)
                if file is None or file.memory:
                    agreed = journal.agreed_content(self._db, twin) if twin else None
                    note, hash = (file.memory, file.hash) if file else (None, None)
                    pairs.append(Pair(note_id, note, hash, row, twin, agreed))
        return pairs

    def _paired(self, rows: Sequence[int], notes: Sequence[str]) -> dict[str, tuple[Observation | None, Twin | None]]:
        """By the ids of notes: the observations that have one of these numbers or a twin among these notes."""
        twins = journal.twins(self._db, of_rows=rows, of_notes=notes)
        known = {twin.observation_id for twin in twins}
        there = journal.observations(self._db, {*rows, *known})
        found: dict[str, tuple[Observation | None, Twin | None]] = {
            twin.note_id: (there.get(twin.observation_id), twin) for twin in twins
        }
        new = {
            id: note_id_of(there[id].sync_id, there[id].created_at) for id in rows if id in there and id not in known
        }
        others = {twin.note_id: twin for twin in journal.twins(self._db, of_notes=new.values())} if new else {}
        others_rows = (
            journal.observations(self._db, {twin.observation_id for twin in others.values()}) if others else {}
        )
        for id, note_id in new.items():
            twin = others.get(note_id)
            if (note_id in found and found[note_id][0]) or (twin and twin.observation_id in others_rows):
                # Engram lets two observations have one identity: an export that was imported twice.
                note_id, twin = derived_id(there[id].created_at, f"{there[id].sync_id} {id}"), None
            found[note_id] = (there[id], twin)
        return found

    def _row(self, id: int) -> Observation | None:
        return journal.observations(self._db, [id]).get(id)

    def _settle(self, pairs: Iterable[Pair], gone: Iterable[int]) -> None:
        """Let both sides be as they should, then remember that they agree."""
        settled: list[tuple[Pair, Outcome]] = []
        as_ = self._translation()
        for pair in pairs:
            try:
                settled.append((pair, decide(pair, as_)))
            except (AnamnesisError, TypeError, ValueError) as error:  # one that cannot be said must not stop the others
                log(self._store.root, "bridge failed", note=pair.note_id, reason=str(error))
        written = self._write_notes(settled)
        agreed: dict[str, bytes | None] = {}
        with database.writing(self._db):
            present = journal.observations(self._db, _numbers(settled))
            for pair, outcome in settled:
                number = pair.row.id if pair.row else pair.twin.observation_id if pair.twin else 0
                if present.get(number) != pair.row:
                    continue  # changed meanwhile, and noted down for the next time
                if outcome.note is None:
                    agreed[pair.note_id] = self._agree(pair, outcome, None, None)
                elif outcome.note == pair.note:
                    agreed[pair.note_id] = self._agree(pair, outcome, pair.note, pair.note_hash)
                elif file := written.get(pair.note_id):
                    agreed[pair.note_id] = self._agree(pair, outcome, file.memory, file.hash)
            for id in gone:
                if id not in present:
                    journal.forget_changes(self._db, id)
        self._store.settle(agreed)

    def _write_notes(self, settled: list[tuple[Pair, Outcome]]) -> dict[str, NoteFile]:
        """Write and remove the files that are not as they should be; those that were written."""
        for pair, outcome in settled:
            if pair.note and outcome.note is None:
                with contextlib.suppress(NoteNotFound):
                    self._store.delete(pair.note_id)
        asides = [outcome.aside for _, outcome in settled if outcome.aside]
        changed = {
            pair.note_id: (outcome.note, pair.note_hash)
            for pair, outcome in settled
            if outcome.note and outcome.note != pair.note
        }
        self._store.put_whole(asides)
        try:
            written = self._store.put_whole([note for note, _ in changed.values()])
        except AnamnesisError:
            written = [file for note, _ in changed.values() for file in self._write_note(note)]
        return {file.memory.id: file for file in written if file.memory}

    def _write_note(self, note: Memory) -> list[NoteFile]:
        try:
            return self._store.put_whole([note])
        except AnamnesisError as error:
            log(self._store.root, "bridge failed", note=note.id, reason=error.message)
            return []

    def _agree(self, pair: Pair, outcome: Outcome, note: Memory | None, hash: bytes | None) -> bytes | None:
        """Write the observation as it should be, and remember both as they are."""
        row = outcome.row
        if row and row != pair.row:
            row = replace(row, id=journal.save_row(self._db, row, pair.row))
        if row and (note or pair.twin):
            front = front_of(note) if note else pair.twin.front if pair.twin else ""
            journal.save_twin(self._db, Twin(row.id, pair.note_id, fingerprint(row), hash, front, 0))
        elif row:
            journal.forget_changes(self._db, row.id)
        elif pair.twin:
            journal.forget_twin(self._db, pair.note_id)
            journal.forget_changes(self._db, pair.twin.observation_id)
        return hash

    def _translation(self) -> Translation:
        return Translation(
            note=partial(noted, key_of=self._keys.of, machine_id=self._machine_id, clean=_clean),
            row=partial(observed, clean=_clean),
            clean=_clean,
            now=datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S"),
        )


def _numbers(settled: Iterable[tuple[Pair, Outcome]]) -> set[int]:
    rows = {pair.row.id for pair, _ in settled if pair.row}
    return rows | {pair.twin.observation_id for pair, _ in settled if pair.twin}


def _clean(text: str) -> str:
    return redact(writable(text))
