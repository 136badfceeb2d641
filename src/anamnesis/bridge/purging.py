"""Purging as entry points do it: a note with its observation, and then what both databases keep of deleted rows."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from anamnesis.bridge import as_bridged
from anamnesis.engram import database
from anamnesis.erasure import erase_deleted
from anamnesis.store import MemoryStore, purging
from anamnesis.store.tombstones import bury, finish_erasure, is_erasure_due


def purge(store: MemoryStore, note_id: str) -> None:
    """Remove a note for good, with its observation where the two are in step."""
    bury(store.root, note_id)  # before anything goes
    if bridged := as_bridged(store):
        bridged.bridge.purge(note_id)
    else:
        purging.purge(store, note_id)


def erase(store: MemoryStore, engram: Path | None) -> bool:
    """Leave nothing of what was purged in the databases; False if a program that uses one was in the way.

    What could not be done now stays due: a daemon does it when nobody asks it anything.
    """
    if not is_erasure_due(store.root):
        return True
    is_done = purging.erase(store)
    if engram and engram.exists():
        with closing(database.connect(engram)) as db:
            is_done &= erase_deleted(db)
    if is_done:
        finish_erasure(store.root)
    return is_done
