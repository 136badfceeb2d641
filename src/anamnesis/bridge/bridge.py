"""The bridge: a follower of the notes' change log that reconciles notes and observations. Contains no format.

The log records which notes changed, and a journal in engram.db records which observations did.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from anamnesis.bridge import FAILURES, journal, strengths, upkeep
from anamnesis.bridge.journal import FOLLOWER
from anamnesis.bridge.pairing import broken
from anamnesis.bridge.reconciliation import Changes, Reconciliation
from anamnesis.bridge.upkeep import State, Waiting
from anamnesis.disk import locked, write_atomically
from anamnesis.engram.record import Observation
from anamnesis.engram.shared import Shared
from anamnesis.log import log
from anamnesis.store import MemoryStore
from anamnesis.store.change_log import NOTHING, Pending, Written
from anamnesis.store.files import NoteFile

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

LOCK = "bridge.lock"
# Holds the id of the pairing of this home with an engram.db, and the last change that both had; and its lock file.
CHECKPOINT = "bridge.met"
_CHECKPOINT_LOCK = "bridge.met.lock"
# How many changes are reconciled in one batch: other users of the databases wait for it.
BATCH = 200
# Seconds between batches, for a waiting request to get the lock: taking it again at once would starve the request.
_YIELD_SECONDS = 0.001
# Seconds for which answered notes may wait for their agreements: other threads and processes wait as long.
_LONGEST_HOLD = 0.05

Progress = Callable[[int, int], None]


class Bridge:
    """Reconciles the notes of a store with the observations of an engram.db; any number of threads may use it.

    The engram.db is given by its path, or by a connection, which its owner closes.
    """

    def __init__(
        self, store: MemoryStore, engram: Path | Shared, machine_id: str, user_home: Path | None = None
    ) -> None:
        self._store = store
        self._lock = str(store.root / LOCK)
        self._is_busy = False
        self._decided: object = None
        self._answered: list[Changes] = []  # their notes are in place, but perhaps not on the disk
        self._unflushed: deque[NoteFile] = deque()
        self._flushes: list[Future[None]] = []
        self._disk: Executor | None = None
        self._held, self._held_until = contextlib.ExitStack(), 0.0
        with contextlib.ExitStack() as opened:
            if isinstance(engram, Path):
                engram = opened.enter_context(contextlib.closing(Shared(engram)))
            self._shared = engram
            self._guard, self._db = self._shared.lock, self._shared.db
            self._reconciliation = Reconciliation(store, self._db, machine_id, user_home)
            with self._guard:
                self._identity = self._pair_up()
                self._subscribe()
            self._opened = opened.pop_all()

    def close(self) -> None:
        with self._guard:
            self.flush()
            self._save_last()
        self._opened.close()

    def last_change(self) -> int:
        """The number of the last change of an observation, for a later `follow_rows`."""
        with self._guard:
            return journal.last_change(self._db)

    def waiting(self) -> Waiting:
        with self._guard:
            return upkeep.waiting(self._db, self._store)

    def state(self) -> State:
        """How much both sides hold, and how much is pending."""
        with self._guard:
            return upkeep.state(self._db, self._store, self._shared.path)

    def drift(self) -> int:
        """How much differs though nothing is pending, for example after a backup was restored."""
        with self._guard:
            return upkeep.drift(self._db, self._store)

    def note_ids(self, ids: Sequence[int]) -> list[str]:
        """The ids of the notes of these observations; an observation without a note is left out."""
        with self._guard:
            return journal.note_ids(self._db, ids)

    def write_strengths(self, *, add: bool) -> int:
        """Write how notes are used into Reverie's columns; returns the number of updated observations.

        With `add`, missing columns are created.
        """
        with self._guard:
            if not strengths.is_wanted(self._db, add=add):
                return 0
        self._store.usage.take_in()
        used = [(id, totals) for id, totals in self._store.usage.every().items() if totals.use.uses]
        count = 0
        for start in range(0, len(used), strengths.BATCH):
            with self._guard:
                count += strengths.write(
                    self._db, self._store, dict(used[start : start + strengths.BATCH]), time.time()
                )
            time.sleep(_YIELD_SECONDS)
        return count

    def mark_all_pending(self) -> None:
        """Make everything pending again."""
        with self._guard:
            self._store.log.restart(FOLLOWER)
            journal.mark_all_pending(self._db)

    def follow_rows(
        self, since: int, *, most: int = -1, answer: Callable[[], object] | None = None
    ) -> tuple[int, bool]:
        """Reconcile observations that changed after the change number `since`, at most `most`, the last changed first.

        Returns the number of the last change, and whether these were all; the others stay pending. `answer` is called
        once the notes of a single batch are in place. New ones are indexed then, and flushed by a thread; this thread
        has to call `flush` soon: until then, the bridge waits for it.
        """
        with self._guard, self._holding() if answer else contextlib.nullcontext():
            changed = journal.changed(self._db, since, most)
            if answer and len(changed) <= BATCH:
                self._reconcile_and_answer(changed, since, answer)
            else:
                for _ in self._reconcile_rows([*changed]):
                    pass
        return max([since, *changed.values()]), len(changed) != most

    def flush(self) -> None:
        """Wait until the notes that were answered are on the disk, then save their agreements.

        Only the thread that answered has any: it holds the locks until it calls this.
        """
        with self._guard, self._held:
            self._remember_answered()

    def written(self) -> int:
        """How many rows this connection has written to engram.db: at least as many as it added to the journal."""
        return self._db.total_changes

    def follow(self, most: int = 10 * BATCH, written: Written | None = None) -> bool:
        """Reconcile pending changes, at most `most` of each side; False if there are more.

        Notes that this process has just `written` come first, then the other notes in the order of the log, then
        observations, the last changed first. Changes that wait for an unreadable file are not counted.
        """
        with self._guard:
            if self._is_busy:  # called by the store for our own write
                return True
            self.flush()
        is_all = bool(written and self._follow_written(written)) or self._follow_notes(most)
        if not is_all:  # the observation of a note still pending would pass for a new one
            return False
        with self._guard:
            rows = self._changed_rows(most)
        for _ in self._reconcile_rows(rows):
            pass
        self._follow_decisions()
        return len(rows) < most

    def purge(self, note_id: str) -> None:
        """Purge a note and its observation, with all their versions."""
        with self._alone():
            self._reconciliation.purge(note_id)

    def reconcile(self, progress: Progress | None = None, stop: Callable[[], bool] = bool) -> int:
        """Reconcile everything that is pending, until `stop` returns True; returns how many changes there were."""
        done = 0
        seen: set[int] = set()
        while True:
            with self._guard:
                notes = len(self._pending().changes)
                rows = [id for id in journal.changed(self._db) if id not in seen]
            if not rows and not notes:
                return done
            seen.update(rows)
            total = done + len(rows) + notes
            for count, _ in chain(self._reconcile_notes(), self._reconcile_rows(rows)):
                done += count
                if progress:
                    progress(done, max(done, total))
                if stop():
                    return done
                time.sleep(_YIELD_SECONDS)

    def _follow_decisions(self) -> None:
        """Hide the observations that an accepted note supersedes, and show those of one that is not accepted."""
        decided = self._store.decided_at()
        if decided != self._decided:
            with self._alone():
                self._reconciliation.supersede_as_decided()
            self._decided = decided

    def _follow_written(self, written: Written) -> bool:
        """Reconcile notes that were just written; returns whether no other change of notes is pending."""
        with self._alone():
            self._invalidate_if_empty()
            self._reconciliation.reconcile([], [*written.files], written)
            return self._store.log.skip(FOLLOWER, written)

    def _follow_notes(self, most: int) -> bool:
        """Reconcile the notes of pending changes; False if there are more."""
        done = 0
        for _, paired in self._reconcile_notes(most):
            done += paired
            if done >= most:
                return False
        return True

    def _reconcile_notes(self, most: int = BATCH) -> Iterator[tuple[int, int]]:
        """Reconcile the notes of pending changes, in batches; yields how many changes and how many pairs each had."""
        while (pending := self._pending(min(most, BATCH))).changes:
            with self._alone():
                self._invalidate_if_empty()
                # A note that was written without saving its twin is found by its observation, even a removed one.
                gone = journal.gone(self._db)
                paired = self._reconciliation.reconcile(gone, [change.note_id for change in pending.changes])
                self._store.log.advance(FOLLOWER, pending)
            yield len(pending.changes), paired

    def _reconcile_rows(self, rows: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Reconcile observations, in batches; yields how many observations and how many pairs each had."""
        for start in range(0, len(rows), BATCH):
            some = rows[start : start + BATCH]
            with self._alone():
                self._invalidate_if_empty()
                paired = self._reconciliation.reconcile(some, [])
            yield len(some), paired

    def _reconcile_and_answer(self, changed: dict[int, int], since: int, answer: Callable[[], object]) -> None:
        """Reconcile observations, and answer when their notes are in place; agreements with new notes follow later.

        The next new notes need not wait for the disk, but all other work does: it completes the agreements first.
        """
        rows = [*changed]
        with self._busy():
            self._invalidate_if_empty()
            added = self._only_added(changed, since)
            changes = self._reconciliation.decided_of_new(added, since) if added else self._reconciliation.decided(rows)
            if not changes.only_make_notes and self._answered:  # they may be of the same notes
                self._remember_answered()
                changes = self._reconciliation.decided(rows)
            if changes.only_make_notes:
                self._reconciliation.write_notes(changes, partial(self._answer_and_flush, answer))
            else:  # a version that is replaced could be lost, so the new one is on the disk before the answer
                self._reconciliation.write_notes(changes)
                answer()
        self._answered.append(changes)

    def _only_added(self, changed: dict[int, int], since: int) -> dict[int, Observation]:
        """The changed observations if they are exactly those that this connection's last transaction added; else none.

        A change by another program would leave a gap in the numbers of the changes.
        """
        added = self._db.added
        numbered = [(id, since + number) for number, id in enumerate(added, start=1)]
        return added if [*reversed(changed.items())] == numbered else {}

    @contextlib.contextmanager
    def _holding(self) -> Iterator[None]:
        """Hold the locks until `flush`, which follows at once if no file is being flushed."""
        try:
            if not self._answered:
                self._held.enter_context(self._guard)
                self._held.enter_context(locked(self._lock))
                self._held_until = time.monotonic() + _LONGEST_HOLD
            yield
        finally:
            if not self._flushes or time.monotonic() > self._held_until:
                self.flush()

    def _answer_and_flush(self, answer: Callable[[], object], files: list[NoteFile]) -> None:
        """Answer, as new notes are in place, and have a thread flush them while they are indexed."""
        answer()
        if self._disk is None:
            from concurrent.futures import ThreadPoolExecutor  # only a daemon needs it

            self._disk = self._opened.enter_context(ThreadPoolExecutor(1, "disk"))
        self._unflushed.extend(files)
        self._flushes.append(self._disk.submit(self._flush_files))

    def _flush_files(self) -> None:
        """Flush the files that were queued while the thread flushed the previous ones."""
        self._store.secure([self._unflushed.popleft() for _ in range(len(self._unflushed))])

    def _remember_answered(self) -> None:
        """Save the agreements of answered notes once these are on the disk; if that fails, they stay pending."""
        answered, flushes = self._answered, self._flushes
        self._answered, self._flushes = [], []
        try:
            for each in flushes:
                each.result()
            if answered:
                self._reconciliation.remember(answered)
        except FAILURES as error:
            log(self._store.root, "bridge failed", reason=str(error))

    def _pending(self, most: int = -1) -> Pending:
        """The pending changes of notes; all notes if the index was rebuilt."""
        pending = self._store.log.pending(FOLLOWER, self._identity, most)
        if pending is None:
            self._subscribe()
            pending = self._store.log.pending(FOLLOWER, self._identity, most)
        return pending or NOTHING

    def _invalidate_if_empty(self) -> None:
        """Invalidate the agreements if all notes are missing: the folder was moved or is not mounted, not deleted."""
        if self._store.is_empty and journal.is_agreed(self._db):
            journal.invalidate(self._db)

    def _changed_rows(self, most: int) -> list[int]:
        """At most `most` changed observations, the last changed first, without those that wait for a file."""
        found = [*journal.changed(self._db, limit=most)]
        stuck = {*broken(self._db, self._store).values()} if found else set()
        if stuck and len(found) == most:
            found = [*journal.changed(self._db, limit=most + len(stuck))]
        return [id for id in found if id not in stuck][:most]

    def _pair_up(self) -> str:
        """The identity of the pairing of this home and this engram.db. In a new pairing, no note counts as deleted."""
        with self._checkpoint() as saved:
            known, _, seen = saved.partition(" ")
            is_known = known == journal.identity(self._db)
            identity = journal.prepare(self._db)
            if not is_known or (seen.isdigit() and int(seen) < journal.checkpoint(self._db)):
                # The home does not have the last agreements, or none: it is new here, or restored from a backup.
                identity = journal.begin(self._db)
            elif seen.isdigit() and journal.last_change(self._db) < int(seen):
                # engram.db was restored from a backup, which lacks the later changes.
                identity = journal.renew(self._db)
            self._save_checkpoint(saved, identity)
        return identity

    def _save_last(self) -> None:
        """Record the last change of engram.db for the next start, unless another home was paired with it since."""
        with contextlib.suppress(*FAILURES), self._checkpoint() as saved:
            if (identity := journal.identity(self._db)) and identity == saved.partition(" ")[0]:
                self._save_checkpoint(saved, identity)

    @contextlib.contextmanager
    def _checkpoint(self) -> Iterator[str]:
        """The content of `bridge.met`, with its lock held."""
        with locked(self._store.root / _CHECKPOINT_LOCK):
            try:
                saved = (self._store.root / CHECKPOINT).read_text("utf-8", "replace")
            except FileNotFoundError:
                saved = ""
            yield saved

    def _save_checkpoint(self, saved: str, identity: str) -> None:
        """Record the last change on both sides. The home first: if it is ahead, it does not pass for an old backup."""
        seen = journal.last_change(self._db)
        if saved != (now := f"{identity} {seen}"):
            write_atomically(self._store.root / CHECKPOINT, now.encode())
        journal.save_checkpoint(self._db, seen)

    def _subscribe(self) -> None:
        """Follow the log of the notes. A new index lacks the deleted notes, so every observation becomes pending."""
        if self._store.log.subscribe(FOLLOWER, self._identity):
            journal.mark_all_pending(self._db)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock that lets one bridge at a time reconcile."""
        with self._guard:
            self.flush()
            with locked(self._lock), self._busy():
                yield

    @contextlib.contextmanager
    def _busy(self) -> Iterator[None]:
        self._is_busy = True
        try:
            yield
        finally:
            self._is_busy = False
