"""The notes beside a daemon: opened, adopted and watched in threads of their own, so that no client waits for them."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from anamnesis.errors import AnamnesisError

if TYPE_CHECKING:
    from watchfiles import Change

    from anamnesis.bridge.bridged import BridgedStore
    from anamnesis.engram.shared import Shared
    from anamnesis.store import MemoryStore

# An edit is seen after so many milliseconds of quiet, and while there is none, at least so often.
_QUIET_MS = 50
_LONGEST_MS = 400
# Where folders cannot be watched, they are looked at so often.
_LOOK_SECONDS = 1.0


class Notes:
    """The store of a daemon. Opening it takes longer than binding a port: who needs it waits until it is there."""

    def __init__(self, home: Path, shared: Shared, log: Callable[..., None]) -> None:
        self._home = home
        self._shared = shared
        self._log = log
        self._opened: Future[MemoryStore] = Future()
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=work, name=work.__name__) for work in (self._adopt, self._watch)]
        for thread in self._threads:
            thread.start()

    def store(self) -> MemoryStore:
        """The store, once it is open; raises why it cannot be opened."""
        return self._opened.result()

    def keep_up(self) -> None:
        """Bring to the notes what was written to engram.db until now; what fails stays noted down."""
        self._with_bridge(lambda bridged: bridged.keep_up())

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
        for thread in self._threads:
            thread.join()
        if not self._opened.exception():
            self.store().close()

    def _with_bridge(self, work: Callable[[BridgedStore], None]) -> None:
        from anamnesis.bridge import as_bridged

        try:
            if not self._opened.exception() and (bridged := as_bridged(self.store())):
                work(bridged)
        except Exception:  # the outermost boundary of the thread: what was written is written, and has to be answered
            self._log("bridge failed", trace=traceback.format_exc())

    def _adopt(self) -> None:
        """Open the notes, then take over what changed while nobody was here: perhaps all that there is."""
        from anamnesis.bridge import as_bridged, find_engram, open_bridged

        try:
            self._opened.set_result(open_bridged(self._home, self._shared if find_engram() else None))
        except Exception as error:  # the outermost boundary of the thread: whoever waits has to be told
            self._log("cannot open the notes", reason=str(error))
            self._opened.set_exception(error)
            return
        if (bridged := as_bridged(self.store())) and bridged.reconcile(stop=self._stopping.is_set):
            self._log("bridge reconciled")

    def _watch(self) -> None:
        """Enter what is saved in the notes' folders, whoever saves it."""
        import watchfiles

        if self._opened.exception():
            return
        store = self.store()
        try:
            changes = watchfiles.watch(
                store.memory_dir,
                store.local_dir,
                watch_filter=lambda change, path: _is_of_notes(change, path, store.root),
                debounce=_LONGEST_MS,
                step=_QUIET_MS,
                stop_event=self._stopping,
                rust_timeout=500,
                raise_interrupt=False,
                ignore_permission_denied=True,
            )
            for found in changes:
                self._receive(store, [Path(path).relative_to(store.root).as_posix() for _, path in found])
        except (OSError, RuntimeError) as error:
            self._log("cannot watch", reason=str(error))
            while not self._stopping.wait(_LOOK_SECONDS):
                self._receive(store, [])

    def _receive(self, store: MemoryStore, paths: list[str]) -> None:
        try:
            if paths and all(path.endswith(".md") for path in paths):
                store.receive(paths)
            else:  # a folder came or went
                store.refresh()
        except AnamnesisError as error:
            self._log("cannot enter notes", reason=str(error))


def _is_of_notes(change: Change, path: str, root: Path) -> bool:
    """Whether it can be about notes. git's own and temporary files are hidden; a folder counts as it comes or goes."""
    if not path.endswith(".md") and change.name == "modified":
        return False
    return "/." not in path.removeprefix(str(root)).replace("\\", "/")
