"""The vault of a daemon: threads open it, watch its notes and reconcile it, so that clients do not wait."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from anamnesis.bridge import FAILURES
from anamnesis.daemon.dreamer import Dreamer
from anamnesis.daemon.exchanger import Exchanger
from anamnesis.daemon.uses import Uses
from anamnesis.dream.dream_journal import gauges
from anamnesis.embedder import Embedder
from anamnesis.errors import StoreUnavailable

if TYPE_CHECKING:
    from watchfiles import Change

    from anamnesis.config import Settings
    from anamnesis.daemon.dreamer import Times
    from anamnesis.engram.record import Row, SearchResult
    from anamnesis.engram.search import Filters
    from anamnesis.engram.shared import Shared
    from anamnesis.store import MemoryStore
    from anamnesis.vault import Vault
    from anamnesis.web.metrics import Metrics

# An edit is indexed after this many milliseconds without another, and under constant edits at least at this interval.
_QUIET_MS = 50
_LONGEST_MS = 400
# Milliseconds between checks whether the watched folders have been replaced.
_LOOK_MS = 500
# Seconds between refreshes where folders cannot be watched.
_LOOK_SECONDS = 1.0
# The most changes of other processes that are reconciled between two events of the watcher.
_MOST_AT_ONCE = 200
# Seconds after the start during which a write waits for the notes, so that it is reconciled before it is answered.
_PATIENCE_SECONDS = 1.0
# Seconds for which the first client of Engram waits for the existing notes to be reconciled.
_FIRST_CLIENT_SECONDS = 3.0
# Seconds without a write after which the daemon erases purged text; writers wait while it does.
_REST_SECONDS = 5.0
# Seconds between two writes of Reverie's columns.
_STRENGTHS_SECONDS = 600.0


class Keeper:
    """Opens the vault of a daemon, watches the notes' folders, and follows the changes of other processes.

    Opening takes longer than binding a port: a call that reads notes waits for it. A write to engram.db waits at most
    `_PATIENCE_SECONDS` after the start; what is pending by then is reconciled afterwards.
    """

    def __init__(self, settings: Settings, shared: Shared, log: Callable[..., None]) -> None:
        self._settings = settings
        self._shared = shared
        self._log = log
        self.uses = Uses()
        self._opened: Future[Vault] = Future()
        self._patient_until = time.monotonic() + _PATIENCE_SECONDS
        self._last_write = self._strengths_at = float("-inf")
        self._engram_fault = ""
        self._embedder: Embedder | None = None
        self._dreamer: Dreamer | None = None
        self._exchanger: Exchanger | None = None
        self._creating = threading.Lock()
        self._stopping = threading.Event()
        self._behind = threading.Event()  # set while more changes are pending than a client should wait for
        self._threads = [threading.Thread(target=work, name=work.__name__) for work in (self._reconcile, self._watch)]
        self._prepare()
        for thread in self._threads:
            thread.start()

    def vault(self) -> Vault:
        """The vault, once it is open; raises the error if it cannot be opened."""
        return self._opened.result()

    def notes(self) -> MemoryStore:
        """The notes; raises while they are being opened, which can take long."""
        if not self._opened.done():
            raise StoreUnavailable("The notes are being opened.", "Try again in a moment.")
        return self.vault().notes

    def open_engram(self) -> None:
        """Create engram.db if there is none, and reconcile the notes with it, for a few seconds at most.

        The first client of Engram waits for it, so that it finds the notes; the rest is reconciled afterwards.
        """
        if self._shared.is_open and self._has_bridge():
            return
        with self._creating:
            _ = self._shared.db
            self._prepare()
            wait([self._opened], _FIRST_CLIENT_SECONDS)
            deadline = time.monotonic() + _FIRST_CLIENT_SECONDS
            self._with_vault(self._connect)
            self._with_vault(
                lambda vault: vault.reconcile(stop=lambda: self._stopping.is_set() or time.monotonic() > deadline)
            )
            self._behind.set()

    def dream_while_idle(self, metrics: Metrics, times: Times | None = None) -> None:
        """Start dreams while no client works, unless the setting is off; `metrics` counts the requests."""

        def start(opened: Future[Vault]) -> None:
            if not opened.exception() and not self._stopping.is_set():
                self._dreamer = Dreamer(opened.result().notes, metrics, self._log, times)

        if self._settings.dream:
            self._opened.add_done_callback(start)

    def recall(self, db: sqlite3.Connection, query: str, filters: Filters) -> list[SearchResult]:
        """The observations that answer a query for which Engram's search finds nothing; none while notes are opened."""
        is_open = self._opened.done() and not self._opened.exception()
        return self.vault().recall(db, query, filters) if is_open else []

    def marked(self, db: sqlite3.Connection, rows: Sequence[Row], *, unasked: bool = False) -> list[Row]:
        """The rows as clients of Engram get them; see `Vault.marked`.

        Just after the start, it waits for the notes. While they are still being opened, nothing is known of them.
        """
        wait([self._opened], max(0.0, self._patient_until - time.monotonic()))
        if self._opened.done() and not self._opened.exception():
            return self.vault().marked(db, rows, unasked=unasked)
        from anamnesis.bridge.foreign import as_marked, notes_of
        from anamnesis.notes.foreign import UNKNOWN

        notes = notes_of(db, rows)
        return [as_marked(row, UNKNOWN) if row.id in notes else row for row in rows]

    def after_write(self, answer: Callable[[], object]) -> None:
        """Reconcile the last writes to engram.db; a write that cannot be reconciled stays pending.

        `answer` answers the clients, once the notes of new observations are in place. Their fsync follows; `flush`
        waits for it.

        Opening the vault takes milliseconds, unless its index has to be rebuilt; no write waits for a rebuild.
        """
        self._last_write = time.monotonic()
        wait([self._opened], max(0.0, self._patient_until - time.monotonic()))
        self._with_vault(partial(self._follow_writes, answer))
        self._embed(requested=True)

    def flush(self) -> None:
        """Complete the work that `after_write` postponed, in the same thread."""
        self._with_vault(lambda vault: vault.flush())

    def status(self) -> dict[str, object]:
        """How much the notes and engram.db hold, and how much is pending between them."""
        if not self._opened.done():
            return {"bridge": "opening"}
        if error := self._opened.exception():
            return {"bridge": f"no notes: {error}"}
        vault = self.vault()
        embedding = {"not_embedded": vault.notes.ranking.pending()}
        if vault.bridge is None:
            return {"bridge": "off", "notes": vault.notes.count(), **embedding}
        state = vault.bridge.state()
        counts = {"notes": state.notes, "observations": state.observations}
        return {"bridge": "on", **counts, "waiting": asdict(state.waiting), **embedding}

    def gauges(self) -> dict[str, float]:
        """Gauges of notes and dreams; none while the notes are being opened."""
        is_open = self._opened.done() and not self._opened.exception()
        return gauges(self.vault().notes) if is_open else {}

    def close(self) -> None:
        """Stop the threads between two changes, and close the vault."""
        self._stopping.set()
        self._behind.set()
        for thread in self._threads:
            thread.join()
        for worker in (self._exchanger, self._dreamer, self._embedder):
            if worker:
                worker.close()
        if not self._opened.exception():
            self._with_vault(self._count_uses)
            self.vault().try_to_erase(self._shared.path)
            self.vault().close()

    def _prepare(self) -> None:
        """Make engram.db record the changes and replaced versions of observations from the first write on."""
        from anamnesis.bridge import journal
        from anamnesis.vault import find_engram

        try:
            if find_engram(self._settings) and journal.identity(self._shared.db) is None:
                journal.prepare(self._shared.db)
        except FAILURES as error:
            self._log("bridge failed", reason=str(error))

    def _has_bridge(self) -> bool:
        """Whether nothing has to be connected: the bridge is on, the setting is off, or the notes cannot be opened."""
        if not self._settings.bridge:
            return True
        return self._opened.done() and (bool(self._opened.exception()) or self.vault().bridge is not None)

    def _connect(self, vault: Vault) -> None:
        """Connect an engram.db that was created after the vault was opened."""
        from anamnesis.vault import find_engram

        try:
            if vault.bridge is None and find_engram(self._settings):
                vault.connect(self._shared, self._settings.machine_id)
                self._behind.set()
        except FAILURES as error:
            if str(error) != self._engram_fault:  # log a repeated failure once
                self._engram_fault = str(error)
                self._log("bridge failed", reason=self._engram_fault)

    def _with_vault(self, work: Callable[[Vault], object]) -> None:
        try:
            if self._opened.done() and not self._opened.exception():
                work(self.vault())
        except Exception:  # the outermost boundary: the write succeeded and must be answered
            self._log("bridge failed", trace=traceback.format_exc())

    def _follow(self, vault: Vault) -> None:
        """Reconcile what other processes wrote and indexed. They may also have created engram.db."""
        self._connect(vault)
        if not vault.follow(_MOST_AT_ONCE):
            self._behind.set()

    def _follow_writes(self, answer: Callable[[], object], vault: Vault) -> None:
        if not vault.follow_writes(answer):
            self._behind.set()

    def _reconcile(self) -> None:
        """Open the vault, then reconcile what changed while no daemon ran, which may be everything.

        Reconciles again whenever more is pending than a client should wait for, and erases purged text when idle.
        """
        from anamnesis.vault import open_vault

        try:
            vault = open_vault(self._settings, pending=True, engram=self._shared)
            # This process ranks notes itself, for others too, and embeds them in a thread, not in searches.
            vault.notes.ranking.ranker, vault.notes.ranking.embed_seconds = None, 0.0
            self._embedder = Embedder(vault.notes)
            self._exchanger = Exchanger(vault, self._settings, self._log)
            self._opened.set_result(vault)
        except Exception as error:  # the outermost boundary of the thread: waiting callers get the error
            self._log("cannot open the notes", reason=str(error))
            self._opened.set_exception(error)
            return
        self._behind.set()
        while True:
            if is_behind := self._behind.wait(_REST_SECONDS):  # after a timeout, a late event stays set
                self._behind.clear()
            if self._stopping.is_set():
                return
            self._with_vault(self._count_uses)
            if is_behind:
                self._with_vault(self._reconcile_all)
            elif time.monotonic() - self._last_write > _REST_SECONDS:
                self.vault().try_to_erase(self._shared.path)  # writers wait while it does
                self._write_strengths()

    def _write_strengths(self) -> None:
        """Write the use of notes into Reverie's columns, at long intervals as it changes slowly."""
        if time.monotonic() > self._strengths_at:
            self._strengths_at = time.monotonic() + _STRENGTHS_SECONDS
            self.vault().write_strengths(add=self._settings.engram_strength)

    def _count_uses(self, vault: Vault) -> None:
        """Record the uses by clients of Engram, and count the uses that all programs recorded."""
        from anamnesis.store.usage import Usage

        root = vault.notes.root
        self.uses.record(root, vault.note_ids)
        with closing(Usage(root)) as usage:  # on a connection of its own, so that no search waits
            usage.take_in()

    def _reconcile_all(self, vault: Vault) -> None:
        if vault.reconcile(stop=self._stopping.is_set):
            self._log("bridge reconciled")

    def _embed(self, *, requested: bool = False) -> None:
        if self._embedder:
            self._embedder.wake(requested=requested)

    def _watch(self) -> None:
        """Index changes of other programs in the notes' folders: by watching, or else by polling."""
        if self._opened.exception():
            return
        store = self.vault().notes
        reason = ""
        while not self._stopping.is_set():
            try:
                self._watch_trees(store)
            except (OSError, RuntimeError) as error:
                if str(error) != reason:
                    reason = str(error)
                    self._log("cannot watch", reason=reason)
                self._receive(store, [])
                self._with_vault(self._follow)
                self._embed()
                self._stopping.wait(_LOOK_SECONDS)

    def _watch_trees(self, store: MemoryStore) -> None:
        """Watch both trees of notes until one is replaced: the watcher follows the old folder, not the name."""
        import watchfiles

        trees = (store.memory_dir, store.local_dir)
        root = len(str(store.root)) + 1
        watched = [_identity(tree) for tree in trees]
        changes = watchfiles.watch(
            *trees,
            watch_filter=lambda change, path: _is_of_notes(change, path[root:]),
            debounce=_LONGEST_MS,
            step=_QUIET_MS,
            stop_event=self._stopping,
            rust_timeout=_LOOK_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
            ignore_permission_denied=True,
        )
        is_new = True
        for batch in changes:
            paths = [path[root:].replace(os.sep, "/") for _, path in batch]
            if is_new:  # changes before the watch began are not reported
                self._receive(store, [])
            elif paths:
                self._receive(store, paths)
            self._with_vault(self._follow)
            self._embed()
            if any(tree.name in paths for tree in trees) or watched != [_identity(tree) for tree in trees]:
                return
            is_new = False

    def _receive(self, store: MemoryStore, paths: list[str]) -> None:
        """Index these files; with no paths, all changed ones. A failure does not end the watch."""
        try:
            if paths and all(path.endswith(".md") for path in paths):
                store.refresh_files(paths)
            else:  # a folder was added or removed
                store.refresh()
        except FAILURES as error:
            self._log("cannot enter notes", reason=str(error))


def _identity(tree: Path) -> tuple[int, int]:
    status = tree.stat()
    return status.st_dev, status.st_ino


def _is_of_notes(change: Change, path: str) -> bool:
    """Whether an event may concern notes; excludes hidden paths (git's, temporary files) and modified folders."""
    if f"{os.sep}." in path:
        return False
    return path.endswith(".md") or change.name != "modified"
