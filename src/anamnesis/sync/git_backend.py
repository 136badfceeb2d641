"""Sync by git: prepares a cycle, runs it, and saves a checkpoint for the next one."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Collection
from pathlib import Path

from anamnesis.config import setting
from anamnesis.disk import locked
from anamnesis.errors import StoreUnavailable
from anamnesis.git import GitFailed
from anamnesis.store.files import digest
from anamnesis.sync.backend import Announce, SyncResult, SyncState
from anamnesis.sync.checkpoint import Checkpoint, take_checkpoint, version_of, write_checkpoint
from anamnesis.sync.cycle import SHORT, Cycle
from anamnesis.sync.remote import CONNECT_TIMEOUT, Remote
from anamnesis.sync.repository import Repository
from anamnesis.sync.tree import is_safe
from anamnesis.sync.worktree import LOCK

# The size of git's index for about 20,000 notes; comparing all their files takes 30 ms.
_SMALL_INDEX = 2_000_000
# Seconds between complete comparisons of a larger repository: they find edits in place that were not indexed.
_COMPARE_SECONDS = 3600.0


class GitSyncBackend:
    """Syncs a folder of notes, a git repository, with a remote.

    A sync always compares all files if git's index has fewer than `small_index` bytes. With `adopt` it joins a remote
    that is no repository of notes.
    """

    def __init__(
        self,
        repo_dir: Path | str,
        *,
        remote: str | None,
        machine_id: str,
        timeout: float = 120.0,
        small_index: int = _SMALL_INDEX,
        adopt: bool = False,
        connect_timeout: float = CONNECT_TIMEOUT,
        announce: Announce | None = None,
    ) -> None:
        self.repo_dir = Path(repo_dir).absolute()
        self.remote = os.path.expanduser(setting("remote").check(remote)) if remote else None
        self.machine_id = machine_id
        self.timeout = timeout
        self.small_index = small_index
        self._remote_digest = digest((self.remote or "").encode()).hex()
        self._repository = Repository(self.repo_dir, machine_id)
        self._remote = (
            Remote(self._repository, self.remote, timeout, adopt=adopt, connect_timeout=connect_timeout)
            if self.remote
            else None
        )
        self._announce: Announce = announce or (lambda _: None)

    def init(self) -> None:
        """Make the folder a repository with this remote, if it is not yet."""
        with self._alone():
            self._prepare(None)

    def state(self) -> SyncState:
        repository = self._repository
        shown = self._remote.shown if self._remote else None
        if not repository.exists:
            return SyncState(False, shown, "", False, "not initialized")
        try:
            return SyncState(True, shown, repository.head()[:SHORT], bool(repository.status().changed), "ok")
        except GitFailed as error:
            return SyncState(True, shown, "", False, str(error))

    def sync(self, changed: Collection[str] | None = None) -> SyncResult:
        """Run one cycle. Changes that cannot be sent now are sent by the next one.

        Compares only the `changed` files with the last commit if `_is_enough`, else all files.
        """
        repository = self._repository
        self._announce("Waiting for another sync of this machine")
        try:
            with self._alone():
                self._announce("Reading the notes")
                last = take_checkpoint(repository.metadata)
                self._prepare(last)
                now = time.time()
                repository.locate()
                cycle = Cycle(repository, self._remote, self.machine_id, self._announce)
                if last and repository.is_at(last):
                    cycle.trust(last)
                    if changed is not None and self._is_enough(changed, now - last.compared_at):
                        cycle.only, now = [path for path in changed if is_safe(path)], last.compared_at
                result = cycle.run()
                if cycle.is_consistent:
                    write_checkpoint(repository.metadata, self._checkpoint(cycle.head, now))
                if last is None or cycle.head != last.head:
                    repository.pack()
                return result
        except OSError as error:
            raise StoreUnavailable(f"Cannot write {error.filename or self.repo_dir}: {error.strerror}.") from error

    def _is_enough(self, changed: Collection[str], age: float) -> bool:
        """Whether the changed files are all that a commit needs: the repository is not small, all files were compared
        within the hour, and no rules of the user's exclude one of them."""
        repository = self._repository
        is_small = repository.index.stat().st_size < self.small_index
        return not is_small and 0 <= age < _COMPARE_SECONDS and not repository.has_rules_for(changed)

    def _checkpoint(self, head: str, compared_at: float) -> Checkpoint:
        repository = self._repository
        return Checkpoint(
            head=head,
            tree=repository.trees.get(head, ""),
            index=version_of(repository.index),
            config=version_of(repository.config),
            remote=self._remote_digest,
            compared_at=compared_at,
        )

    def _prepare(self, last: Checkpoint | None) -> None:
        self._repository.create()
        self._repository.write_rules()
        is_set = last and (last.remote, last.config) == (self._remote_digest, version_of(self._repository.config))
        if self._remote and not is_set:
            self._remote.set_address()

    def _alone(self) -> contextlib.AbstractContextManager[None]:
        """Hold the lock that lets one sync of the folder run at a time; it exists before the repository does."""
        metadata = self._repository.metadata
        if not metadata.exists():
            metadata.mkdir(mode=0o700, parents=True, exist_ok=True)
        return locked(metadata / LOCK, timeout=2 * self.timeout + 60)
