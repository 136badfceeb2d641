"""Notes on every machine: commit, fetch, merge note by note, push, and index what changed."""

from typing import Any

from anamnesis.config import Settings
from anamnesis.log import log
from anamnesis.notes import writable
from anamnesis.store import MemoryStore
from anamnesis.store.files import TREES
from anamnesis.sync.backend import SyncBackend, SyncResult, SyncState
from anamnesis.sync.git_backend import GitSyncBackend

__all__ = ["GitSyncBackend", "SyncBackend", "SyncResult", "SyncState", "configured_backend", "report", "sync_store"]


def configured_backend(store: MemoryStore, settings: Settings) -> GitSyncBackend:
    """The backend that this machine's settings ask for."""
    return GitSyncBackend(
        store.memory_dir, remote=settings.remote, machine_id=settings.machine_id, timeout=settings.sync_timeout
    )


def sync_store(store: MemoryStore, backend: SyncBackend) -> SyncResult:
    """Sync a store's portable notes and bring its index up to date."""
    begun = store.root / "sync.begun"
    was_interrupted = begun.exists()
    begun.touch(mode=0o600)
    result = backend.sync()
    if was_interrupted:
        store.refresh()  # nobody has told the index what that sync found edited in place
    else:
        store.receive([f"{TREES['portable']}/{path}" for path in result.changed if _can_hold_a_note(path)])
    begun.unlink(missing_ok=True)
    log(store.root, "sync", **report(store, result))
    return result


def _can_hold_a_note(path: str) -> bool:
    """Whether the store looks at a file: not in hidden places, nor under a name that is not UTF-8."""
    return "/." not in f"/{path}" and writable(path) == path


def report(store: MemoryStore, result: SyncResult) -> dict[str, Any]:
    """What a sync did, as every surface shows it to programs; `indexed` is how many notes the index holds now."""
    return {
        "pushed": result.pushed,
        "pulled": result.pulled,
        "conflicted": result.conflicted,
        "head": result.head,
        "indexed": store.count(),
        "detail": result.detail,
    }
