"""Our own changes of folders, told apart from others' by the folders' times.

What somebody else does within the same tick of the file system's clock, or between our change and our look at the
time, passes for ours: the next change of the folder brings it to light, and so do the watching daemon and a refresh.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Step(NamedTuple):
    """Our own change of a folder, and the folder's time before and after it, if nobody else changed it meanwhile."""

    folder: str
    before: int
    after: int


class Steps:
    """What several changes did to folders: one step for each folder that nobody else changed in between."""

    def __init__(self, time_of: Callable[[str], int]) -> None:
        self._time_of = time_of
        self._taken: dict[str, Step | None] = {}

    @contextlib.contextmanager
    def change(self, folder: str) -> Iterator[None]:
        """One change of a folder; if its time is not what the last one left, somebody else came between."""
        now = self._time_of(folder)
        last = self._taken.get(folder, Step(folder, now, now))
        yield
        undisturbed = last and last.after == now
        self._taken[folder] = Step(folder, last.before, self._time_of(folder)) if last and undisturbed else None

    def undisturbed(self) -> list[Step]:
        return [step for step in self._taken.values() if step]
