"""The whole memory: the notes of a home, the observations of an engram.db, and the bridge between them.

Every surface opens a vault, and nothing else. Without an engram.db, the bridge costs one check of a file name.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from anamnesis.bridge import FAILURES
from anamnesis.config import DEFAULT_VERSIONS
from anamnesis.errors import InvalidArgument
from anamnesis.log import log
from anamnesis.store import MemoryStore
from anamnesis.store.question import Question, Ranked, Ranker, by_words_alone

if TYPE_CHECKING:
    import sqlite3

    from anamnesis.bridge.bridge import Bridge, Progress
    from anamnesis.bridge.upkeep import State
    from anamnesis.config import Settings
    from anamnesis.engram.record import Row, SearchResult
    from anamnesis.engram.search import Filters
    from anamnesis.engram.shared import Shared
    from anamnesis.exchange.syncing import Synced
    from anamnesis.history.version import Revision
    from anamnesis.store.change_log import Written
    from anamnesis.sync.backend import Announce, SyncBackend

# The number of changes that the opening of a vault reconciles; a background process does the rest.
_AT_ONCE = 200
# The seconds for which a search embeds pending notes if no daemon does; notes still pending are found by their words.
_EMBED_SECONDS = 0.2

# The pid file of a daemon, beside engram.db.
_DAEMON = "daemon.json"

T = TypeVar("T")


def find_engram(settings: Settings) -> Path | None:
    """The path of engram.db, if there is one and the bridge is on."""
    try:
        path = settings.engram_db()
    except InvalidArgument:
        return None
    return path if path.exists() and settings.bridge else None


def open_vault(
    settings: Settings,
    *,
    only_to_read: bool = False,
    pending: bool = False,
    engram: Shared | None = None,
    light: bool = False,
) -> Vault:
    """Open the memory of this machine. If the bridge cannot be opened, that is logged, and the notes work without it.

    `only_to_read` writes nothing but the index and the vectors of the notes. `pending` leaves pending changes between
    notes and observations for later. `engram` is a connection to engram.db that is open already. A running daemon
    compares the meaning of notes for this process; without a daemon, this process does it, unless it is `light`.
    """
    path = find_engram(settings)
    opened = Vault(settings.home, path, settings.user_home, only_to_read=only_to_read, versions=settings.versions)
    ranking = opened.notes.ranking
    ranking.embed_seconds = _EMBED_SECONDS
    ranking.ranker = _ranker(settings, by_words_alone if light else ranking.rank_here)
    if path and not only_to_read:
        try:
            opened.connect(engram or path, settings.machine_id)
        except FAILURES as error:
            log(settings.home, "bridge failed", reason=str(error))
        if not pending and not opened.follow(_AT_ONCE):
            from anamnesis.process import run_in_background

            run_in_background("bridge", "reconcile")
    return opened


def _ranker(settings: Settings, otherwise: Ranker) -> Ranker:
    """A ranker that asks the daemon if its pid file exists; otherwise it does not even import the client."""

    @cache
    def client() -> Ranker:
        from anamnesis.daemon_client import DaemonClient

        return DaemonClient(settings, otherwise)

    def rank(question: Question) -> list[Ranked] | None:
        try:
            file = settings.engram_db().with_name(_DAEMON)
        except InvalidArgument:
            return otherwise(question)
        return (client() if file.exists() else otherwise)(question)

    return rank


class Vault:
    """The notes, and the observations of an engram.db once it is connected.

    A call for one side never fails because of the other: the error is logged, and the change stays pending.
    """

    def __init__(
        self,
        home: Path | str,
        engram: Path | None = None,
        user_home: Path | None = None,
        *,
        only_to_read: bool = False,
        versions: int = DEFAULT_VERSIONS,
    ) -> None:
        self.engram = engram
        self._user_home = user_home
        self.bridge: Bridge | None = None
        self._connecting = threading.Lock()
        self.notes = notes = MemoryStore(home, only_to_read=only_to_read, versions=versions)
        self.write, self.get, self.update = notes.write, notes.get, notes.update
        self.delete, self.restore = notes.delete, notes.restore
        self.search, self.list, self.changes = notes.search, notes.list, notes.log
        self._mark = self._rows_written = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.notes.on_refresh = self.notes.on_change = None
        if self.bridge:
            self.bridge.close()
        self.notes.close()

    def connect(self, engram: Path | Shared, machine_id: str) -> Bridge:
        """Reconcile the notes with the observations of an engram.db from now on.

        The first thread creates the only bridge: a second one would wait for the lock of the first.
        """
        from anamnesis.bridge.bridge import Bridge  # 50 ms that nobody without Engram has to spend

        with self._connecting:
            if self.bridge is None:
                bridge = Bridge(self.notes, engram, machine_id, self._user_home)
                self._mark, self._rows_written = bridge.last_change(), bridge.written()
                self.engram = engram if isinstance(engram, Path) else engram.path
                self.bridge = bridge
                self.notes.on_refresh = self._follow
                self.notes.on_change = self._follow
            return self.bridge

    def follow(self, most: int) -> bool:
        """Reconcile pending changes, at most `most` of each side; False if there are more."""
        return self._safely(lambda bridge: bridge.follow(most=most), default=True)

    def follow_writes(self, answer: Callable[[], object] | None = None) -> bool:
        """Reconcile what was written to engram.db since the last call; `answer` is called once the notes are in place.

        This covers everything that was written on our own connection, and a few other changes: False if others wrote
        more. After an `answer`, the same thread has to call `flush` soon.
        """

        def follow(bridge: Bridge) -> bool:
            from anamnesis.bridge.bridge import BATCH

            most = max(BATCH, bridge.written() - self._rows_written)
            self._mark, is_all = bridge.follow_rows(self._mark, most=most, answer=answer)
            return is_all

        is_all = self._safely(follow, default=True)
        self._rows_written = self.bridge.written() if self.bridge else 0
        return is_all

    def flush(self) -> None:
        """Wait until the answered notes are flushed to disk, and save that they agree with their observations."""
        self._safely(lambda bridge: bridge.flush(), default=None)

    def reconcile(self, progress: Progress | None = None, stop: Callable[[], bool] = bool) -> int:
        """Reconcile everything that is pending, until `stop`; returns how many changes there were."""
        return self._safely(lambda bridge: bridge.reconcile(progress, stop), default=0)

    @contextmanager
    def around(self, db: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
        """Use engram.db with the bridge: changes of notes are reconciled before, and changes of rows after."""
        self._follow()
        mark = self.bridge.last_change() if self.bridge else 0
        try:
            yield db
        finally:
            self._safely(lambda bridge: bridge.follow_rows(mark), default=(mark, True))

    def recall(self, db: sqlite3.Connection, query: str, filters: Filters) -> list[SearchResult]:
        """The observations whose notes answer a query for which Engram's search finds none; empty without a bridge."""
        from anamnesis.bridge.recall import recall

        return self._safely(lambda _: recall(self.notes, db, query, filters), default=[])

    def marked(self, db: sqlite3.Connection, rows: Sequence[Row], *, unasked: bool = False) -> list[Row]:
        """The rows as clients of Engram get them: those of foreign notes and of conflicts say so. It opens no index.

        `unasked` leaves out those that no new session gets before the user's review.
        """
        from anamnesis.bridge.foreign import as_marked, as_other_version, notes_of, other_versions

        notes = notes_of(db, rows)
        originals = other_versions(db, notes)
        rows = [as_other_version(row, originals[row.id]) if row.id in originals else row for row in rows]
        origins = self.notes.origins_of_whole({note.id: note for note in notes.values()})
        if not origins:
            return [*rows]
        of = {id: origins[note.id] for id, note in notes.items() if note.id in origins}
        kept = [row for row in rows if not (unasked and row.id in of and of[row.id].is_held)]
        return [as_marked(row, of[row.id]) if row.id in of else row for row in kept]

    def note_ids(self, observations: Sequence[int]) -> list[str]:
        """The ids of the notes of these observations, for those that have one; none without a bridge."""
        return self._safely(lambda bridge: bridge.note_ids(observations), default=[])

    def write_strengths(self, *, add: bool) -> int:
        """Write the use of notes into Reverie's columns of engram.db; with `add`, missing columns are added."""
        return self._safely(lambda bridge: bridge.write_strengths(add=add), default=0)

    def status(self) -> State | None:
        """The state of the bridge: the numbers of notes and observations, and of pending changes between them.

        None without an engram.db, or if it cannot be read: `read_status` raises the reason.
        """
        try:
            return self.read_status()
        except FAILURES:
            return None

    def read_status(self) -> State | None:
        """Like `status`, but raises if engram.db cannot be read."""
        from anamnesis.bridge.upkeep import read_state

        if self.bridge:
            return self.bridge.state()
        return read_state(self.engram, self.notes) if self.engram else None

    def history(self, note_id: str) -> list[Revision]:
        """Every revision of a note, the oldest first."""
        from anamnesis.history.revisions import revisions

        return revisions(self.notes, note_id, self.engram, self._user_home)

    def sync(
        self, backend: SyncBackend, settings: Settings, *, announce: Announce | None = None, retries: bool = False
    ) -> Synced:
        """Sync the notes with the other machines by git, and with the hub if there is a login.

        `retries` sends notes again that the hub has refused.
        """
        from anamnesis.exchange.syncing import sync_both

        return sync_both(self.notes, backend, settings, announce=announce, retries=retries, purge=self.purge)

    def purge(self, note_id: str) -> None:
        """Remove a note for good, with its observation and every version of both; see `erase`."""
        from anamnesis.exchange.state import forget_news
        from anamnesis.store.purging import purge
        from anamnesis.store.tombstones import bury

        forget_news(self.notes.root, [note_id])
        if self.bridge:
            bury(self.notes.root, note_id)  # before the observation goes
            self.bridge.purge(note_id)
        else:
            purge(self.notes, note_id)
        self._forget_dreams([note_id])

    def erase(self, engram: Path | None = None) -> bool:
        """Erase purged text from the databases; False if another program's transaction prevented it.

        An `engram` database is erased even if it is not connected. After a failure the erasure stays due, and the
        daemon retries it when idle.
        """
        from anamnesis.bridge.purging import erase
        from anamnesis.store.tombstones import purged_ids

        root = self.notes.root
        return erase(self.notes, engram or self.engram, lambda: self._forget_dreams(purged_ids(root)))

    def _forget_dreams(self, ids: Iterable[str]) -> bool:
        """Remove purged notes from the databases of dreams."""
        from anamnesis.dream.forgetting import forget

        return forget(self.notes.root, ids)

    def try_to_erase(self, engram: Path) -> None:
        """Erase purged text, when idle or at the end; an error is logged."""
        try:
            self.erase(engram)
        except FAILURES as error:
            log(self.notes.root, "cannot erase purged notes", reason=str(error))

    def _follow(self, written: Written | None = None) -> None:
        self._safely(lambda bridge: bridge.follow(written=written), default=True)

    def _safely(self, work: Callable[[Bridge], T], default: T) -> T:
        try:
            return work(self.bridge) if self.bridge else default
        except FAILURES as error:
            log(self.notes.root, "bridge failed", reason=str(error))
            return default
