"""A thread that embeds notes in the background, so that no search, write or start waits for it."""

from __future__ import annotations

import threading
import time
import traceback
from typing import TYPE_CHECKING

from anamnesis.log import log_once
from anamnesis.process import lower_priority
from anamnesis.store.queries import Filter
from anamnesis.store.question import Question

if TYPE_CHECKING:
    from anamnesis.store import MemoryStore

# Seconds without a request after which embedding continues, and the longest wait for that. Each batch takes up to half
# a second of one processor from clients that write without a pause.
_QUIET_SECONDS = 0.1
_LONGEST_WAIT = 15.0
# Seconds to wait after a failure, such as a full disk.
_PAUSE_SECONDS = 60.0
# Seconds between two removals of the texts of deleted notes.
_CLEAN_SECONDS = 3600.0
# A question that loads the model and the vectors, so that the first search does not have to.
_WARMING = Question("warm", Filter(), 1)


class Embedder:
    """Embeds what changed after each `wake`, which every search of the store calls. The first call starts a thread."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._cleaned = time.monotonic()
        self._last_request = float("-inf")
        self._is_warm = False
        store.ranking.wake = self.wake

    def wake(self, *, requested: bool = True) -> None:
        """Embed what changed, once no requests arrive; `requested` if a request caused this call."""
        if requested:
            self._last_request = time.monotonic()
        self._woken.set()
        with self._starting:
            if self._thread is None and not self._stopping.is_set():
                self._thread = threading.Thread(target=self._run, name="embed")
                self._thread.start()

    def close(self) -> None:
        """Stop, even within a text."""
        with self._starting:
            self._stopping.set()
        self._woken.set()
        if self._thread:
            self._store.ranking.abandon()
            self._thread.join()

    def _run(self) -> None:
        lower_priority()
        while True:
            self._woken.wait()
            self._woken.clear()
            if self._stopping.is_set():
                return
            try:
                is_done = self._store.ranking.safely(self._embed)
            except Exception:  # the outermost boundary of the thread; pending notes are found by their words
                log_once(self._store.root, "embedding failed", trace=traceback.format_exc())
                is_done = None
            if not is_done:
                self._stopping.wait(_PAUSE_SECONDS)

    def _embed(self) -> bool:
        ranking = self._store.ranking
        if ranking.pending() and not self._is_stopping():
            ranking.embed(stop=self._is_stopping)
            self._is_warm = False
        elif self._is_warm and time.monotonic() - self._cleaned > _CLEAN_SECONDS:
            self._cleaned = time.monotonic()
            ranking.forget_deleted()
        if not self._is_warm and not self._stopping.is_set() and self._store.count():
            ranking.compare(_WARMING)
            self._is_warm = True
        return True

    def _is_stopping(self) -> bool:
        """Whether to stop. Waits first while requests arrive, so that these have the processors."""
        deadline = time.monotonic() + _LONGEST_WAIT
        while time.monotonic() < min(deadline, self._last_request + _QUIET_SECONDS):
            if self._stopping.wait(_QUIET_SECONDS):
                break
        return self._stopping.is_set()
