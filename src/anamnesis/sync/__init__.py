"""Sync of the notes between machines: commit, fetch, merge note by note, push, and refresh the index."""

import sqlite3
from dataclasses import replace
from typing import Any

from anamnesis.config import Settings
from anamnesis.errors import AnamnesisError, LockHeld, Unwritable
from anamnesis.log import log
from anamnesis.notes import writable
from anamnesis.readonly import is_writable
from anamnesis.store import MemoryStore
from anamnesis.store.files import TREES, telling
from anamnesis.store.unsynced import find_unsynced, forget_unsynced
from anamnesis.sync.backend import BOTH_KEPT, Announce, SyncBackend, SyncResult, SyncState
from anamnesis.sync.both_trees import settle_both_trees
from anamnesis.sync.failure import clear_failure, record_failure
from anamnesis.sync.git_backend import GitSyncBackend

# The next step when the remote was not reached or has refused.
_UNREACHED = "Check the network and the setting `remote`, then sync again: nothing is lost, what was not sent waits."

__all__ = ["GitSyncBackend", "SyncBackend", "SyncResult", "SyncState", "configured_backend", "report", "sync_store"]


def configured_backend(
    store: MemoryStore, settings: Settings, *, adopt: bool = False, announce: Announce | None = None
) -> GitSyncBackend:
    """The backend of this machine's settings."""
    return GitSyncBackend(
        store.memory_dir,
        remote=settings.remote,
        machine_id=settings.machine_id,
        timeout=settings.sync_timeout,
        adopt=adopt,
        announce=announce,
    )


def sync_store(store: MemoryStore, backend: SyncBackend) -> SyncResult:
    """Sync a store's portable notes and refresh its index; records whether that failed."""
    try:
        result = _sync(store, backend)
    except LockHeld:
        raise  # another sync is running, and records its own result
    except (AnamnesisError, sqlite3.Error, OSError) as error:
        hint = error.hint if isinstance(error, AnamnesisError) else ""
        record_failure(store.root, error.message if isinstance(error, AnamnesisError) else str(error), hint)
        raise
    if result.reached:
        clear_failure(store.root)
    else:
        record_failure(store.root, result.detail, _UNREACHED)
    return result


def _sync(store: MemoryStore, backend: SyncBackend) -> SyncResult:
    if not is_writable(store.root):
        fault = "the disk is read-only or full, or the folder is closed to you"
        raise Unwritable(f"The notes in {store.root} cannot be synced: {fault}.")
    begun = store.root / "sync.begun"
    was_interrupted = begun.exists()
    with telling("write", begun):
        begun.touch(mode=0o600)
    unsynced = find_unsynced(store)
    result = backend.sync(unsynced.paths)
    if was_interrupted:
        store.refresh()  # the interrupted sync may have committed edits in place that the index does not know
    else:
        is_all = all(writable(path) == path for path in result.written)
        changed = [f"{TREES['portable']}/{path}" for path in result.changed if _can_hold_a_note(path)]
        store.refresh_files(changed, result.steps if is_all else ())
    if (was_interrupted or result.received) and settle_both_trees(store):
        result = replace(result, conflicted=True, detail=BOTH_KEPT)
    written = {path: hash for path, hash in result.written.items() if _can_hold_a_note(path)}
    forget_unsynced(store, unsynced, written)
    with telling("write", begun):
        begun.unlink(missing_ok=True)
    log(store.root, "sync", **report(store, result))
    return result


def _can_hold_a_note(path: str) -> bool:
    """Whether the index knows a file: not in hidden folders, nor with a name that is not UTF-8."""
    return "/." not in f"/{path}" and writable(path) == path


def report(store: MemoryStore, result: SyncResult) -> dict[str, Any]:
    """What a sync did, as JSON of every surface; `indexed` is the number of notes in the index."""
    return {
        "pushed": result.pushed,
        "pulled": result.pulled,
        "conflicted": result.conflicted,
        "decided": list(result.decided),
        "head": result.head,
        "indexed": store.count(),
        "detail": result.detail,
    }
