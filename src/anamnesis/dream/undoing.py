"""Takes a dream back, and remembers not to propose the same again."""

from __future__ import annotations

import contextlib

from anamnesis.dream.database import DreamDatabase
from anamnesis.dream.journal import proposals, write_report
from anamnesis.store import MemoryStore, changeset
from anamnesis.store.ids import utcnow
from anamnesis.sync.worktree import without_sync

# How long an undo waits for a sync that runs.
_PATIENCE_SECONDS = 30.0


def undo(store: MemoryStore, change: changeset.Change) -> changeset.Undone:
    """Restore the notes of a change, and reject what it did: the next cycle would do it again.

    The rejection comes first, for a kill in between: what was rejected and is done all the same can be undone again.
    """
    with contextlib.closing(DreamDatabase(store.root)) as database:
        if change.state == changeset.DONE:
            database.reject(proposals(change), utcnow())
        with without_sync(store.memory_dir, _PATIENCE_SECONDS):
            outcome = changeset.undo(store, change.id)
        restored = store.files(outcome.restored).values()
        database.saw(file.memory for file in restored if file.memory)
    write_report(store, changeset.find(store, change.id))
    return outcome
