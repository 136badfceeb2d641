"""Distinguishes our own changes of folders from those of other programs, by the folders' mtimes.

A change by another program within the same tick of the file system's clock, or between our change and our reading of
the mtime, is taken for ours. The next change of the folder reveals it, and so do the watching daemon and a refresh.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Step(NamedTuple):
    """Our own change of a folder, with its mtime before and after; no other program changed the folder in between."""

    folder: str
    before: int
    after: int


class Steps:
    """Several changes of ours: one step for each folder that no other program changed in between."""

    def __init__(self, time_of: Callable[[str], int]) -> None:
        self._time_of = time_of
        self._taken: dict[str, Step | None] = {}

    @contextlib.contextmanager
    def change(self, folder: str) -> Iterator[None]:
        """One change of a folder; if its mtime is not what our last one left, another program has changed it."""
        now = self._time_of(folder)
        last = self._taken.get(folder, Step(folder, now, now))
        yield
        undisturbed = last and last.after == now
        self._taken[folder] = Step(folder, last.before, self._time_of(folder)) if last and undisturbed else None

    def undisturbed(self) -> list[Step]:
        return [step for step in self._taken.values() if step]
