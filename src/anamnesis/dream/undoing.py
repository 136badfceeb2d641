"""Undoes a dream, and rejects its proposals, so that they are not made again."""

from __future__ import annotations

import contextlib

from anamnesis.dream.dream_database import DreamDatabase
from anamnesis.dream.dream_journal import proposals, write_report
from anamnesis.store import MemoryStore, changeset
from anamnesis.store.ids import utcnow
from anamnesis.sync.worktree import without_sync

# How long an undo waits for a running sync.
_PATIENCE_SECONDS = 30.0


def undo(store: MemoryStore, change: changeset.Changeset) -> changeset.UndoResult:
    """Restore the notes of a change, and reject its proposals, because the next cycle would make them again.

    The rejection comes first: if the process is killed in between, the change can still be undone.
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
