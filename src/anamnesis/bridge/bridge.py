"""The bridge: what changed on one side of the memory is brought to the other. Knows no format.

Writing through a door and reconciling are the same: journals tell what changed, and each change is taken over with its
twin looked at.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from anamnesis.bridge import FAILURES, journal, upkeep
from anamnesis.bridge.pairing import broken
from anamnesis.bridge.settling import Settling
from anamnesis.bridge.upkeep import State, Waiting
from anamnesis.disk import locked, write_atomically
from anamnesis.engram import database
from anamnesis.engram.shared import Shared
from anamnesis.store import MemoryStore

LOCK = "bridge.lock"
# With which engram.db the notes of this home agreed, and how far that was; and a lock that is held for a moment only.
MET = "bridge.met"
_MET_LOCK = "bridge.met.lock"
# So many changes are taken over at a time: others wait for these.
BATCH = 200

Progress = Callable[[int, int], None]
K = TypeVar("K")


class Bridge:
    """Keeps the notes of a store and the observations of an engram.db in step; any number of threads may use it.

    The engram.db is given by its path, or by a connection, which is its owner's to close.
    """

    def __init__(
        self, store: MemoryStore, engram: Path | Shared, machine_id: str, user_home: Path | None = None
    ) -> None:
        self._store = store
        self._is_busy = False
        with contextlib.ExitStack() as opened:
            self._shared = engram if isinstance(engram, Shared) else opened.enter_context(_opened(engram))
            self._guard, self._db = self._shared.lock, self._shared.db
            self._settling = Settling(store, self._db, machine_id, user_home)
            with self._guard:
                self._identity = self._introduce()
                self._track()
            self._opened = opened.pop_all()

    def close(self) -> None:
        with contextlib.suppress(*FAILURES):  # it stays noted down
            self.finish()
        with self._guard:
            self._part()
        self._opened.close()

    def last_change(self) -> int:
        """A mark by which `follow_rows` knows what has changed since."""
        with self._shared.hurrying():
            return journal.last_change(self._db)

    def waiting(self) -> Waiting:
        with self._guard:
            self.finish()
            return upkeep.waiting(self._db, self._store)

    def state(self) -> State:
        """What both sides hold, and what is waiting to be taken over."""
        with self._guard:
            self.finish()
            return upkeep.state(self._db, self._store, self._shared.path)

    def drift(self) -> int:
        """How much differs that nobody noted down, after a backup was brought back for example."""
        with self._guard:
            self.finish()
            return upkeep.drift(self._db, self._store)

    def note_all(self) -> None:
        """Have everything looked at again by the next reconciliation."""
        with self._guard:
            self.finish()
            self._store.track("")
            self._track()

    def follow_rows(self, since: int, *, most: int = -1, hastily: bool = False) -> tuple[int, bool]:
        """Take over the observations that have changed since a mark, the last changed ones, at `most` so many.

        Where the mark is now, and whether these were all. What is not taken over stays noted down. Who wants it
        `hastily` has to call `finish` when he has time.
        """
        with self._shared.hurrying():
            changed = journal.changed(self._db, since, most)
            for _ in self._take_over([*changed], [], hastily=hastily):
                pass
        return max([since, *changed.values()]), len(changed) != most

    def written(self) -> int:
        """How many rows were written so far on the connection to engram.db; not fewer than it noted down."""
        return self._db.total_changes

    def finish(self) -> None:
        """Do what can wait after something was taken over."""
        with self._guard:
            if not self._settling.is_finished:
                with self._alone():
                    self._settling.finish()

    def follow(self, most: int = 10 * BATCH) -> bool:
        """Take over what has changed, at `most` so many of each side; False if there is more.

        The newest notes and the last changed observations come first. Those that have to wait for a file to be mended
        are not counted: they would be in the way of all others.
        """
        with self._shared.hurrying():
            if self._is_busy:  # our own writing, of which the store tells us
                return True
            self.finish()
            notes = self._not_stuck(self._changed_notes, most)
            is_all = len(notes) < most
            # The observation of a note that is still to come would pass for a new one.
            rows = self._not_stuck(lambda most: journal.changed(self._db, limit=most), most) if is_all else []
        for _ in self._take_over(rows, notes):
            pass
        return is_all and len(rows) < most

    def purge(self, note_id: str) -> None:
        """Remove a note and its observation with all their versions."""
        with self._alone():
            self._settling.purge(note_id)

    def reconcile(self, progress: Progress | None = None, stop: Callable[[], bool] = bool) -> int:
        """Take over everything that has changed, until told to stop; how many changes there were."""
        done = 0
        seen: set[int | str] = set()
        while True:
            with self._guard:
                self.finish()
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
                self._shared.let_pass()

    def _changed_notes(self, most: int) -> Collection[str]:
        changed = self._store.changed_for(self._identity, most)
        if changed is None:
            self._track()
            changed = self._store.changed(most)
        return changed

    def _not_stuck(self, changed: Callable[[int], Iterable[K]], most: int) -> list[K]:
        """At `most` so many changes, without those that have to wait for a file to be mended if they are in the way."""
        found = [*changed(most)]
        if len(found) < most:
            return found
        stuck = broken(self._db, self._store)
        waiting: set[object] = {*stuck, *stuck.values()}
        return [id for id in changed(most + len(stuck)) if id not in waiting][:most]

    def _introduce(self) -> str:
        """The identity of what this home and this engram.db agreed on. Where they never met, no note has gone."""
        with self._meeting() as said:
            known, _, seen = said.partition(" ")
            is_known = known == journal.identity(self._db)
            identity = journal.prepare(self._db)
            if not is_known or (seen.isdigit() and int(seen) < journal.met(self._db)):
                # These notes do not know what was agreed on, or not all of it: a copy of the home was brought back.
                identity = journal.begin(self._db)
            elif seen.isdigit() and journal.last_change(self._db) < int(seen):
                # A copy of engram.db was brought back, which does not know what came since.
                identity = journal.look_again(self._db)
            self._meet(said, identity)
        return identity

    def _part(self) -> None:
        """Remember how far engram.db was, for who opens it next; unless it met another home meanwhile."""
        with contextlib.suppress(*FAILURES), self._meeting() as said:
            if (identity := journal.identity(self._db)) and identity == said.partition(" ")[0]:
                self._meet(said, identity)

    @contextlib.contextmanager
    def _meeting(self) -> Iterator[str]:
        """What is remembered of the last meeting; nobody else changes it meanwhile."""
        with locked(self._store.root / _MET_LOCK):
            try:
                said = (self._store.root / MET).read_text("utf-8", "replace")
            except FileNotFoundError:
                said = ""
            yield said

    def _meet(self, said: str, identity: str) -> None:
        """Remember on both sides how far it was. The home first: one that is further is no older copy."""
        seen = journal.last_change(self._db)
        if said != (now := f"{identity} {seen}"):
            write_atomically(self._store.root / MET, now.encode())
        journal.meet(self._db, seen)

    def _track(self) -> None:
        """See that the store notes down what changes. A new index does not tell which notes have gone."""
        if self._store.track(self._identity):
            with database.writing(self._db):
                journal.note_all(self._db)

    def _take_over(self, rows: Sequence[int], notes: Sequence[str], *, hastily: bool = False) -> Iterator[int]:
        """Take these over, some at a time, and say how many they were. Notes know whose twins they are: first."""
        changes = [*notes, *rows]
        for start in range(0, len(changes), BATCH):
            some = changes[start : start + BATCH]
            some_rows = [change for change in some if isinstance(change, int)]
            some_notes = [change for change in some if isinstance(change, str)]
            with self._alone():
                if self._store.is_bare and journal.is_agreed(self._db):
                    # The folder was moved away, or a disk is not there: nobody deleted these notes.
                    journal.doubt(self._db)
                self._settling.settle(some_rows, some_notes, hastily=hastily)
            yield len(some)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """No other bridge takes anything over meanwhile."""
        with self._guard, locked(self._store.root / LOCK):
            self._is_busy = True
            try:
                yield
            finally:
                self._is_busy = False


def _opened(path: Path) -> contextlib.closing[Shared]:
    database.prepare(path)
    return contextlib.closing(Shared(path))
