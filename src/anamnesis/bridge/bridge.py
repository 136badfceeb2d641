"""The bridge: what changed on one side of the memory is brought to the other. Knows no format.

Writing through a door and reconciling are the same: journals tell what changed, and each change is taken over with its
twin looked at. Whatever is interrupted is noted down still, and found to be equal the next time.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from anamnesis.bridge import journal, upkeep
from anamnesis.bridge.decision import Outcome, Pair, Translation, decide, front_of
from anamnesis.bridge.journal import Twin
from anamnesis.bridge.keys import Keys
from anamnesis.bridge.mapping import fingerprint, fitting, noted, observed
from anamnesis.bridge.pairing import pairs_of
from anamnesis.bridge.upkeep import State, Waiting
from anamnesis.disk import locked
from anamnesis.engram import database
from anamnesis.errors import AnamnesisError, NoteNotFound
from anamnesis.log import log
from anamnesis.notes import Memory, parse
from anamnesis.store import MemoryStore
from anamnesis.store.files import NoteFile

LOCK = "bridge.lock"
# With which engram.db the notes of this home agreed, and how far that was. Locked for a moment only.
MET = "bridge.met"
# So many changes are taken over at a time: others wait for these.
_BATCH = 200
# Between two of them, a reconciliation waits so many milliseconds for those who hurry.
_MOST_LET_PASS = 50

Progress = Callable[[int, int], None]


class Bridge:
    """Keeps the notes of a store and the observations of an engram.db in step; any number of threads may use it."""

    def __init__(self, store: MemoryStore, path: Path, machine_id: str) -> None:
        self._store = store
        self._path = path
        self._machine_id = machine_id
        self._guard = threading.RLock()
        self._is_busy = False
        self._hurried: deque[bool] = deque()
        database.prepare(path)
        self._db = database.connect(path, check_same_thread=False)
        self._keys = Keys(self._db, store)
        try:
            self._identity = self._introduce()
            self._track()
        except BaseException:
            self._db.close()
            raise

    def leave_checkpoints(self) -> None:
        """Let somebody else bring the log of engram.db home: beside a daemon, a commit would try that each time."""
        with self._guard:
            self._db.execute("PRAGMA wal_autocheckpoint = 0")

    def close(self) -> None:
        with self._guard:
            self._part()
            self._db.close()

    def last_change(self) -> int:
        """A mark by which `follow_rows` knows what has changed since."""
        with self._hurrying():
            return journal.last_change(self._db)

    def waiting(self) -> Waiting:
        with self._guard:
            return upkeep.waiting(self._db, self._store)

    def state(self) -> State:
        """What both sides hold, and what is waiting to be taken over."""
        with self._guard:
            return upkeep.state(self._db, self._store, self._path)

    def drift(self) -> int:
        """How much differs that nobody noted down, after a backup was brought back for example."""
        with self._guard:
            return upkeep.drift(self._db, self._store)

    def note_all(self) -> None:
        """Have everything looked at again by the next reconciliation."""
        with self._guard:
            self._store.track("")
            self._track()

    def follow_rows(self, since: int) -> None:
        """Take over the observations that have changed since a mark. What cannot be taken over stays noted down."""
        with self._hurrying():
            for _ in self._take_over(journal.changed(self._db, since), []):
                pass

    def follow(self, most: int = 10 * _BATCH) -> bool:
        """Take over what has changed, the last changes first, and at `most` so many of each side; False if more."""
        with self._hurrying():
            if self._is_busy:  # our own writing, of which the store tells us
                return True
            noted_down = self._store.changed_for(self._identity, most)
            if noted_down is None:
                self._track()
                noted_down = self._store.changed(most)
            notes = list(noted_down)
            is_all = len(notes) < most
            # The observation of a note that is still to come would pass for a new one.
            rows = journal.changed(self._db, limit=most) if is_all else []
        for _ in self._take_over(rows, notes):
            pass
        return is_all and len(rows) < most

    def reconcile(self, progress: Progress | None = None, stop: Callable[[], bool] = bool) -> int:
        """Take over everything that has changed, until told to stop; how many changes there were."""
        done = 0
        seen: set[int | str] = set()
        while True:
            with self._guard:
                self._track()
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
                self._let_pass()

    @contextlib.contextmanager
    def _hurrying(self) -> Iterator[None]:
        """Have the connection as soon as possible, for somebody who waits for an answer."""
        self._hurried.append(True)
        try:
            with self._guard:
                yield
        finally:
            self._hurried.pop()

    def _let_pass(self) -> None:
        """Let those go first for whom somebody waits; a thread that takes a lock again at once would never let go."""
        for _ in range(_MOST_LET_PASS):
            if not self._hurried:
                return
            time.sleep(0.001)

    def _introduce(self) -> str:
        """The identity of what this home and this engram.db agreed on. Where they never met, no note has gone."""
        place = self._store.root / MET
        with locked(place):
            said = place.read_text("utf-8", "replace")
            known, _, seen = said.partition(" ")
            is_known = known == journal.identity(self._db)
            identity = journal.prepare(self._db)
            if not is_known:
                identity = journal.begin(self._db)
            elif seen.isdigit() and journal.last_change(self._db) < int(seen):
                # A backup was brought back, which does not know what came since.
                identity = journal.look_again(self._db)
            if said != (now := f"{identity} {journal.last_change(self._db)}"):
                place.write_text(now, "utf-8")
        return identity

    def _part(self) -> None:
        """Remember how far engram.db was, for who opens it next; unless it met another home meanwhile."""
        place = self._store.root / MET
        with contextlib.suppress(AnamnesisError, OSError, sqlite3.Error), locked(place):
            said = place.read_text("utf-8", "replace")
            known, now = said.partition(" ")[0], f"{journal.identity(self._db)} {journal.last_change(self._db)}"
            if now != said and now.startswith(f"{known} "):
                place.write_text(now, "utf-8")

    def _track(self) -> None:
        """See that the store notes down what changes. A new index does not tell which notes have gone."""
        if self._store.track(self._identity):
            with database.writing(self._db):
                journal.note_all(self._db)

    def _take_over(self, rows: Sequence[int], notes: Sequence[str]) -> Iterator[int]:
        """Take these over, some at a time, and say how many they were. Notes know whose twins they are: first."""
        changes = [*notes, *rows]
        for start in range(0, len(changes), _BATCH):
            some = changes[start : start + _BATCH]
            with self._guard, locked(self._store.root / LOCK):
                self._is_busy = True
                try:
                    self._settle(
                        [change for change in some if isinstance(change, int)],
                        [change for change in some if isinstance(change, str)],
                    )
                finally:
                    self._is_busy = False
            yield len(some)

    def _settle(self, rows: Sequence[int], notes: Sequence[str]) -> None:
        """Let both sides of these changes be as they should, then remember that they agree."""
        with database.reading(self._db):
            pairs = pairs_of(self._db, self._store, rows, notes)
        decided: list[tuple[Pair, Outcome]] = []
        as_ = self._translation()
        for pair in pairs:
            try:
                decided.append((pair, decide(pair, as_)))
            except (AnamnesisError, TypeError, ValueError) as error:  # one that cannot be said must not stop the others
                self._log(pair.note_id, error)
        now = self._write_notes(decided)
        superseding = self._superseding([(pair, now[pair.note_id][0]) for pair in pairs if pair.note_id in now])
        agreed: dict[str, bytes | None] = {}
        paired = {_number(pair) for pair in pairs}
        with database.writing(self._db):
            present = journal.observations(self._db, {*rows, *paired})
            for pair, outcome in decided:
                # What changed meanwhile is noted down for the next time.
                if pair.note_id in now and present.get(_number(pair)) == pair.row:
                    agreed[pair.note_id] = self._agree(pair, outcome, *now[pair.note_id])
            journal.supersede(self._db, superseding)
            for id in {*rows} - present.keys() - paired:
                journal.forget_changes(self._db, id)
        # What we wrote over a note was not noted down.
        noted_down = {*notes, *(pair.note_id for pair, outcome in decided if pair.note is None or outcome.note is None)}
        self._store.settle({id: agreed[id] for id in noted_down & agreed.keys()})

    def _write_notes(self, decided: list[tuple[Pair, Outcome]]) -> dict[str, tuple[Memory | None, bytes | None]]:
        """Write and remove files; the notes that are now as they should be, with their hashes."""
        safe = [(pair, outcome) for pair, outcome in decided if not outcome.aside or self._set_aside(outcome.aside)]
        now: dict[str, tuple[Memory | None, bytes | None]] = {}
        changed: list[Memory] = []
        expected = {pair.note_id: pair.note_hash for pair, _ in safe}
        for pair, outcome in safe:
            if outcome.note == pair.note:
                now[pair.note_id] = pair.note, pair.note_hash
            elif outcome.note:
                changed.append(outcome.note)
            elif self._remove(pair.note_id):
                now[pair.note_id] = None, None
        return now | {id: (file.memory, file.hash) for id, file in self._put(changed, expected).items()}

    def _set_aside(self, note: Memory) -> bool:
        """Keep a version as a note like any other, which is noted down to become an observation."""
        try:
            self._store.put(note)
        except AnamnesisError as error:
            self._log(note.id, error)
            return False
        return True

    def _put(self, notes: list[Memory], expected: Mapping[str, bytes | None]) -> dict[str, NoteFile]:
        """Write notes, together if none is in the way of the others; those that were, for nobody else has meanwhile."""
        try:
            written = self._store.put_whole(notes, expected)
        except AnamnesisError as error:
            if len(notes) == 1:
                self._log(notes[0].id, error)
                return {}
            return {id: file for note in notes for id, file in self._put([note], expected).items()}
        return {file.memory.id: file for file in written if file.memory}

    def _remove(self, note_id: str) -> bool:
        """Move a note to the trash, from every file that holds it."""
        try:
            while True:
                self._store.delete(note_id)
        except NoteNotFound:
            return True
        except AnamnesisError as error:
            self._log(note_id, error)
            return False

    def _agree(self, pair: Pair, outcome: Outcome, note: Memory | None, hash: bytes | None) -> bytes | None:
        """Write the observation as it should be, and remember both as they are."""
        row, before = outcome.row, pair.row
        if outcome.replaced and outcome.replaced != before:
            journal.save_row(self._db, outcome.replaced, before)
            before = outcome.replaced
        if row and row != before:
            row = replace(row, id=journal.save_row(self._db, row, before))
        if pair.twin:
            journal.forget_twin(self._db, pair.twin)
        if row and (note or pair.twin):
            front = front_of(note) if note else pair.twin.front if pair.twin else ""
            journal.save_twin(self._db, Twin(row.id, pair.note_id, fingerprint(row), hash, front, 0))
        elif row:
            journal.forget_changes(self._db, row.id)
        return hash

    def _superseding(self, changed: Sequence[tuple[Pair, Memory | None]]) -> dict[str, str | None]:
        """By which note each of these is superseded, and each that one of these superseded or does now."""
        others = {
            id for pair, note in changed for id in (*(note.superseded if note else ()), *_superseded_by_then(pair))
        }
        return dict.fromkeys(others) | self._store.superseding({*others, *(pair.note_id for pair, _ in changed)})

    def _log(self, note_id: str, error: Exception) -> None:
        log(self._store.root, "bridge failed", note=note_id, reason=str(error))

    def _translation(self) -> Translation:
        return Translation(
            note=partial(noted, key_of=self._keys.of, machine_id=self._machine_id, clean=fitting),
            row=partial(observed, clean=fitting),
            clean=fitting,
            now=datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S"),
        )


def _number(pair: Pair) -> int:
    """The observation's, also of one that has gone; 0 if there was none."""
    return pair.row.id if pair.row else pair.twin.observation_id if pair.twin else 0


def _superseded_by_then(pair: Pair) -> list[str]:
    front = pair.twin.front if pair.twin else ""
    return parse(front).superseded if "supersedes:" in front else []
