"""Erases what deleted rows left in both databases."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from anamnesis.engram import database
from anamnesis.erasure import erase_deleted
from anamnesis.store import MemoryStore, purging
from anamnesis.store.tombstones import finish_erasure, is_erasure_due


def erase(store: MemoryStore, engram: Path | None, also: Callable[[], bool] = lambda: True) -> bool:
    """Erase purged text from the databases, and by `also` from others; False if a program that uses one prevented it.

    An erasure that could not be done now stays due: a daemon does it when it is idle.
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
