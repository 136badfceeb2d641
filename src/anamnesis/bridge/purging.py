"""Erases the remains of deleted rows from both databases."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from anamnesis.engram import database
from anamnesis.erasure import erase_deleted
from anamnesis.store import MemoryStore, purging
from anamnesis.store.tombstones import finish_erasure, is_erasure_due


def erase(store: MemoryStore, engram: Path | None, also: Callable[[], bool] = lambda: True) -> bool:
    """Erase purged text from the databases, and with `also` from others; False if another program has one of them open.

    An erasure that fails stays due: the daemon repeats it when it is idle.
    """
    if not is_erasure_due(store.root):
        return True
    is_done = purging.erase(store) & also()
    if engram and engram.exists():
        with closing(database.connect(engram)) as db:
            is_done &= erase_deleted(db)
    if is_done:
        finish_erasure(store.root)
    return is_done
