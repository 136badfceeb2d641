"""The machines that sync this memory, by the authors of the commits."""

from __future__ import annotations

from datetime import UTC, datetime

from anamnesis.notes import writable
from anamnesis.store import MemoryStore
from anamnesis.sync.repository import Repository

_MOST_COMMITS = 500


def last_syncs(store: MemoryStore) -> dict[str, str]:
    """When each machine last brought changes."""
    repository = Repository(store.memory_dir, "")
    if not repository.exists or not repository.head():
        return {}
    log = ("log", f"-n{_MOST_COMMITS}", "--no-show-signature", "--format=%ct%x00%an%x00%ae", "HEAD", "--")
    found: dict[str, str] = {}
    for line in filter(None, repository.git(*log).decode("utf-8", "replace").split("\n")):
        moment, name, email = line.split("\0")
        found.setdefault(author(name, email), datetime.fromtimestamp(int(moment), UTC).isoformat())
    return found


def author(name: str, email: str) -> str:
    """The machine whose sync made the commit, or the author of a manual one."""
    own = name == "anamnesis" and email.startswith("anamnesis@")
    return writable(email.removeprefix("anamnesis@") if own else name)
