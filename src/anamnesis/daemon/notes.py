"""The notes beside a daemon: opened, adopted and watched in threads of their own, so that no client waits for them."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watchfiles import Change

    from anamnesis.bridge.bridged import BridgedStore
    from anamnesis.config import Settings
    from anamnesis.engram.shared import Shared
    from anamnesis.store import MemoryStore

# An edit is seen after so many milliseconds of quiet, and while there is none, at least so often.
_QUIET_MS = 50
_LONGEST_MS = 400
# So often it is looked whether the folders that are watched are still the notes'.
_LOOK_MS = 500
# Where folders cannot be watched, they are looked at so often.
_LOOK_SECONDS = 1.0
# How many changes of other processes are reconciled between two looks at the folders.
_MOST_AT_ONCE = 200
# So long after the start a write waits for the notes, to be among them when it is answered.
_PATIENCE_SECONDS = 1.0
# Seconds without a write after which the daemon erases purged text; writers wait while it does.
_REST_SECONDS = 5.0


class Notes:
    """The store of a daemon. Opening it takes longer than binding a port: who reads notes waits until it is there.

    Who writes to engram.db does so for a moment only: what is noted down by then is taken over afterwards.
    """

    def __init__(self, settings: Settings, shared: Shared, log: Callable[..., None]) -> None:
        self._settings = settings
        self._shared = shared
        self._log = log
        self._opened: Future[MemoryStore] = Future()
        self._patient_until = time.monotonic() + _PATIENCE_SECONDS
        self._last_write = float("-inf")
        self._stopping = threading.Event()
        self._behind = threading.Event()  # whether there is something to take over for which nobody should wait
        self._threads = [threading.Thread(target=work, name=work.__name__) for work in (self._adopt, self._watch)]
        self._prepare()
        for thread in self._threads:
            thread.start()

    def store(self) -> MemoryStore:
        """The store, once it is open; raises why it cannot be opened."""
        return self._opened.result()

    def keep_up(self) -> None:
        """Bring to the notes what was just written to engram.db; what fails stays noted down.

        To open them takes milliseconds, unless their index has to be made: for that long nobody waits.
        """
        self._last_write = time.monotonic()
        wait([self._opened], max(0.0, self._patient_until - time.monotonic()))
        self._with_bridge(self._keep_up)

    def rest(self) -> None:
        """Do what could wait while clients waited."""
        self._with_bridge(lambda bridged: bridged.rest())

    def halves(self) -> dict[str, object]:
        """What the notes and engram.db hold, and what is waiting between them."""
        from anamnesis.bridge import as_bridged

        if not self._opened.done():
            return {"bridge": "opening"}
        if error := self._opened.exception():
            return {"bridge": f"no notes: {error}"}
        bridged = as_bridged(self.store())
        if bridged is None:
            return {"bridge": "off", "notes": self.store().count()}
        state = bridged.bridge.state()
        held = {"notes": state.notes, "observations": state.observations}
        return {"bridge": "on", **held, "waiting": asdict(state.waiting)}

    def close(self) -> None:
        """End what is under way, between two changes."""
        self._stopping.set()
        self._behind.set()
        for thread in self._threads:
            thread.join()
        if not self._opened.exception():
            self._erase()
            self.store().close()

    def _prepare(self) -> None:
        """Have what clients write noted down from the first write on, with what it replaces."""
        from anamnesis.bridge import FAILURES, find_engram, journal

        try:
            if find_engram(self._settings) and journal.identity(self._shared.db) is None:
                journal.prepare(self._shared.db)
        except FAILURES as error:
            self._log("bridge failed", reason=str(error))

    def _with_bridge(self, work: Callable[[BridgedStore], None]) -> None:
        from anamnesis.bridge import as_bridged

        try:
            if self._opened.done() and not self._opened.exception() and (bridged := as_bridged(self.store())):
                work(bridged)
        except Exception:  # the outermost boundary of the thread: what was written is written, and has to be answered
            self._log("bridge failed", trace=traceback.format_exc())

    def _follow(self, bridged: BridgedStore) -> None:
        """Reconcile what other processes wrote: they entered it into the index themselves."""
        if not bridged.catch_up(_MOST_AT_ONCE):
            self._behind.set()

    def _keep_up(self, bridged: BridgedStore) -> None:
        if not bridged.keep_up():
            self._behind.set()

    def _adopt(self) -> None:
        """Open the notes, then take over what changed while nobody was here: perhaps all that there is.

        And again, whenever more was left there by others than a client should wait for.
        """
        from anamnesis.bridge import find_engram, open_bridged

        try:
            engram = self._shared if find_engram(self._settings) else None
            self._opened.set_result(open_bridged(self._settings, engram))
        except Exception as error:  # the outermost boundary of the thread: whoever waits has to be told
            self._log("cannot open the notes", reason=str(error))
            self._opened.set_exception(error)
            return
        self._behind.set()
        while True:
            is_behind = self._behind.wait(_REST_SECONDS)
            self._behind.clear()
            if self._stopping.is_set():
                return
            if is_behind:
                self._with_bridge(self._reconcile)
            elif time.monotonic() - self._last_write > _REST_SECONDS:
                self._erase()

    def _erase(self) -> None:
        """Remove from the databases what they keep of purged notes. Writers wait meanwhile."""
        from anamnesis.bridge import FAILURES
        from anamnesis.bridge.purging import erase

        try:
            erase(self.store(), self._shared.path)
        except FAILURES as error:
            self._log("cannot erase purged notes", reason=str(error))

    def _reconcile(self, bridged: BridgedStore) -> None:
        if bridged.reconcile(stop=self._stopping.is_set):
            self._log("bridge reconciled")

    def _watch(self) -> None:
        """Enter what is saved in the notes' folders, whoever saves it. Where they cannot be watched, look at them."""
        if self._opened.exception():
            return
        store = self.store()
        reason = ""
        while not self._stopping.is_set():
            try:
                self._watch_trees(store)
            except (OSError, RuntimeError) as error:
                if str(error) != reason:
                    reason = str(error)
                    self._log("cannot watch", reason=reason)
                self._receive(store, [])
                self._with_bridge(self._follow)
                self._stopping.wait(_LOOK_SECONDS)

    def _watch_trees(self, store: MemoryStore) -> None:
        """Watch both trees of notes, until another folder has the name of one: it is the folder that is watched."""
        import watchfiles

        trees = (store.memory_dir, store.local_dir)
        watched = [_identity(tree) for tree in trees]
        changes = watchfiles.watch(
            *trees,
            watch_filter=lambda change, path: _is_of_notes(change, path, store.root),
            debounce=_LONGEST_MS,
            step=_QUIET_MS,
            stop_event=self._stopping,
            rust_timeout=_LOOK_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
            ignore_permission_denied=True,
        )
        is_new = True
        for found in changes:
            paths = [Path(path) for _, path in found]
            if is_new:  # nobody has seen what was saved before
                self._receive(store, [])
            elif paths:
                self._receive(store, [path.relative_to(store.root).as_posix() for path in paths])
            self._with_bridge(self._follow)
            if any(tree in paths for tree in trees) or watched != [_identity(tree) for tree in trees]:
                return
            is_new = False

    def _receive(self, store: MemoryStore, paths: list[str]) -> None:
        """Enter some files, or whatever has changed. What cannot be entered now does not end the watching."""
        from anamnesis.bridge import FAILURES

        try:
            if paths and all(path.endswith(".md") for path in paths):
                store.receive(paths)
            else:  # a folder came or went
                store.refresh()
        except FAILURES as error:
            self._log("cannot enter notes", reason=str(error))


def _identity(tree: Path) -> tuple[int, int]:
    status = tree.stat()
    return status.st_dev, status.st_ino


def _is_of_notes(change: Change, path: str, root: Path) -> bool:
    """Whether it can be about notes. git's own and temporary files are hidden; a folder counts as it comes or goes."""
    if not path.endswith(".md") and change.name == "modified":
        return False
    return "/." not in path.removeprefix(str(root)).replace("\\", "/")
