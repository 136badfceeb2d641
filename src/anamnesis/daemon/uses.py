"""The uses of observations by clients of Engram, collected in memory, so that no request waits for a write."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from anamnesis.store.recording import record

if TYPE_CHECKING:
    from anamnesis.store.strength import Kind

# The most uses between two records; further ones are dropped.
_MOST = 20_000
_MOST_TOGETHER = 200


class Uses:
    """The uses of observations since the last record. A killed daemon loses them."""

    def __init__(self) -> None:
        self._gathered: dict[tuple[Kind, str, int], None] = {}

    def add(self, kind: Kind, ids: Iterable[int], session: str = "") -> None:
        gathered = self._gathered
        if len(gathered) < _MOST:
            for id in ids:
                gathered[kind, session, id] = None

    def record(self, root: Path, note_ids: Callable[[list[int]], list[str]]) -> None:
        """Record the uses of the observations that are notes."""
        gathered, self._gathered = self._gathered, {}
        by: dict[tuple[Kind, str], list[int]] = {}
        for kind, session, id in list(gathered):
            by.setdefault((kind, session), []).append(id)
        for (kind, session), ids in by.items():
            for start in range(0, len(ids), _MOST_TOGETHER):
                record(root, kind, note_ids(ids[start : start + _MOST_TOGETHER]), session)
