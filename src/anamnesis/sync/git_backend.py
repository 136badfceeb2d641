"""Sync by git: commit what changed here, bring it together with what changed elsewhere, push.

Every step can be killed: the files are changed before the branch moves, and what was begun is finished next time.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from anamnesis.config import setting
from anamnesis.disk import locked
from anamnesis.errors import StoreUnavailable
from anamnesis.git import GitFailed
from anamnesis.store.tombstones import purged_ids
from anamnesis.sync.backend import SyncResult, SyncState
from anamnesis.sync.integrate import File, Side, integrate
from anamnesis.sync.repository import LEFT_BY_MERGE, Blob, Difference, Dirt, Rejected, Repository
from anamnesis.sync.worktree import LOCK, Replacement, replace_files

_SHORT = 7
# How often a sync starts over because somebody edits or pushes at the same moment.
_MOST_ROUNDS = 20
# By https, a name without a password is a password too: a token.
_PASSWORD = re.compile(r"(https?://|://[^/:]*:)[^/]*@", re.IGNORECASE)
_MARKERS = (b"<" * 7, b">" * 7)  # more of them where git merges a merge


class GitSyncBackend:
    """Syncs a folder of notes, a git repository, with a remote."""

    def __init__(self, repo_dir: Path | str, *, remote: str | None, machine_id: str, timeout: float = 120.0) -> None:
        self.repo_dir = Path(repo_dir).absolute()
        self.remote = os.path.expanduser(setting("remote").check(remote)) if remote else None
        self.machine_id = machine_id
        self.timeout = timeout
        self._repository = Repository(self.repo_dir, machine_id)

    def init(self) -> None:
        """Make the folder a repository with this remote, if it is not yet."""
        with self._alone():
            self._prepare()

    def state(self) -> SyncState:
        repository = self._repository
        shown = _PASSWORD.sub(r"\1***@", self.remote) if self.remote else None
        if not repository.exists:
            return SyncState(False, shown, "", False, "not initialized")
        try:
            return SyncState(True, shown, repository.head()[:_SHORT], bool(repository.dirt().changed), "ok")
        except GitFailed as error:
            return SyncState(True, shown, "", False, str(error))

    def sync(self) -> SyncResult:
        """One cycle; what cannot be sent now is sent by the next."""
        try:
            with self._alone():
                self._prepare()
                cycle = _Cycle(self._repository, self.machine_id, self.timeout)
                result = cycle.run(to_remote=self.remote is not None)
                self._repository.pack()
                return result
        except OSError as error:
            raise StoreUnavailable(f"Cannot write {error.filename or self.repo_dir}: {error.strerror}.") from error

    def _prepare(self) -> None:
        self._repository.create()
        self._repository.settle_rules()
        if self.remote:
            self._repository.set_remote(self.remote)

    def _alone(self) -> contextlib.AbstractContextManager[None]:
        """One sync of the folder at a time, the first one included."""
        metadata = self._repository.metadata
        if not metadata.exists():
            metadata.mkdir(mode=0o700, parents=True, exist_ok=True)
        return locked(metadata / LOCK, timeout=2 * self.timeout + 60)


@dataclass(slots=True)
class _Cycle:
    """One sync: what it knows so far."""

    repository: Repository
    machine_id: str
    timeout: float
    head: str = ""
    pulled: int = 0
    pushed: bool = False
    committed: bool = False
    conflicted: bool = False
    changed: set[str] = field(default_factory=set)

    def run(self, *, to_remote: bool) -> SyncResult:
        fetching = _InBackground(lambda: self.repository.fetch(self.timeout)) if to_remote else None
        self._take_up()
        if fetching is None:
            done = "committed locally" if self.committed else "nothing to commit"
            return self._result(f"{done}; no remote configured")
        try:
            fetching.join()
            self._exchange()
        except GitFailed as error:
            done = "committed locally; " if self.committed else ""
            return self._result(f"{done}the remote cannot be used now: {error.message}", reached=False)
        return self._result(
            "both versions of a note are kept; see `anamnesis conflicts`" if self.conflicted else "synced"
        )

    def _result(self, detail: str, *, reached: bool = True) -> SyncResult:
        return SyncResult(
            self.pushed,
            self.pulled,
            self.conflicted,
            self.head[:_SHORT],
            detail,
            reached,
            tuple(sorted(self.changed)),
        )

    def _take_up(self) -> None:
        """Commit the files as they are, with what an interrupted sync, merge or rebase had still to bring."""
        for _ in range(_MOST_ROUNDS):
            self._commit()
            unfinished = self.repository.unfinished()
            if all(self._bring(commit) for commit in unfinished):
                if unfinished:
                    self.repository.finish()
                if self.head:
                    self.repository.move_to(self.head)
                return
        raise _restless(self.repository)

    def _commit(self) -> None:
        self.head = self.head or self.repository.head()
        if blocking := self.repository.blocking(self.head):
            self.head = self.repository.record(blocking, [self.head], self._message())
            self.committed = True
        dirt = self.repository.dirt()
        if not dirt.changed:
            return
        known = [self.head] if self.head else []
        commit = self.repository.snapshot(dirt.changed, known, self._message())
        self.changed |= set(dirt.changed)
        self.committed |= commit != self.head
        before, self.head = self.head, commit
        marked = self._marked(dirt, before)
        if marked:
            self._undo_markers(marked, before)

    def _marked(self, dirt: Dirt, before: str) -> list[str]:
        """Files in which a merge has left its markers; a sync that was killed may have marked them as resolved.

        One may be where neither side has it: git moves files along when it takes their folder for a moved one.
        """
        paths = dirt.changed if self.repository.is_merging else dirt.unmerged
        marked = [path for path in paths if _is_marked(self.repository.folder / path)]
        merged = [before, LEFT_BY_MERGE, *self.repository.unfinished()] if marked else []
        unmerged = {*dirt.unmerged}
        return [path for path in marked if path in unmerged or any(self.repository.has(tree, path) for tree in merged)]

    def _undo_markers(self, paths: Sequence[str], before: str) -> None:
        """Where git had left both versions between its markers, let the one before the merge stand: the other comes
        with the commit that was being merged, and the text with the markers is in the history."""
        undone = [
            Difference(each.path, each.after, each.before)
            for each in self.repository.differences(before, self.head)
            if each.path in paths
        ]
        commit = self.repository.record(undone, [self.head], self._message())
        self._apply(undone)
        self.head = commit

    def _exchange(self) -> None:
        """Bring in what the remote has and send what it has not, until both are the same."""
        known, refused = self.head, ""
        for _ in range(_MOST_ROUNDS):
            main, theirs = self.repository.remote_head(self.timeout)
            if theirs and not self._bring(theirs):
                self._take_up()
                continue
            if theirs and self.head != known:
                self.repository.finish()
                self.pulled = self.repository.count_missing(theirs, known)
            if self.head == main:
                return
            try:
                self.repository.push(self.head, self.timeout)
            except Rejected as error:
                refused = f" ({error.message})"
                self.repository.fetch(self.timeout)
            else:
                self.pushed = True
                return
        raise GitFailed(f"Other machines push all the time{refused}.", "Sync again in a while.")

    def _bring(self, theirs: str) -> bool:
        """Bring a commit's changes into the files; false if somebody changed one of them at that moment."""
        base = self.repository.common(self.head, theirs) if self.head not in ("", theirs) else self.head
        if base == theirs:
            return True
        blocking = {each.path for each in self.repository.blocking(theirs)}
        purged = purged_ids(self.repository.folder.parent)
        if base == self.head and not (purged and self._adds(theirs, purged)):
            changes = [each for each in self.repository.differences(self.head, theirs) if each.path not in blocking]
            commit = theirs
            if blocking:  # not checked out, and not left to others
                commit = self.repository.record(changes, [theirs], self._message())
            else:
                self.repository.note_in_index(changes)
        else:
            commit, changes = self._merge(base, theirs, blocking, purged)
        self.repository.begin(commit)
        if self._apply(changes):
            return False
        self.head = commit
        self.repository.move_to(commit)
        return True

    def _adds(self, theirs: str, purged: Collection[str]) -> bool:
        """Whether a commit adds a note that was purged here."""
        added = [each.after for each in self.repository.differences(self.head, theirs) if each.is_file and each.after]
        contents = self.repository.contents(added)
        return any(File(".md", data).note_id in purged for data in contents.values())

    def _merge(
        self, base: str, theirs: str, blocking: Collection[str], purged: Collection[str]
    ) -> tuple[str, list[Difference]]:
        """A commit of both lines, and what it changes of our files.

        It has neither what is `blocking` in theirs nor notes that were purged here.
        """
        ours_changed = self.repository.differences(base, self.head) if base != self.head else []
        theirs_changed = [each for each in self.repository.differences(base, theirs) if each.path not in blocking]
        files = [each for each in (*ours_changed, *theirs_changed) if each.is_file]
        contents = self.repository.contents(blob for each in files for blob in (each.before, each.after))
        result = integrate(_side(ours_changed, contents), _side(theirs_changed, contents), purged)
        self.conflicted |= result.conflicted
        new = [file for file in result.files.values() if file.blob is None]
        stored = dict(zip((file.path for file in new), self.repository.store([file.data for file in new]), strict=True))
        changes = [each for each in theirs_changed if not each.is_file]
        changes += [Difference(path, None, None) for path in result.removed]
        for path, file in result.files.items():
            blob = file.blob if isinstance(file.blob, Blob) else stored[path]
            changes.append(Difference(path, None, blob))
        parents = [each for each in (self.head, theirs) if each]
        commit = self.repository.record(changes, parents, self._message())
        return commit, self.repository.differences(self.head, commit)

    def _apply(self, changes: Sequence[Difference]) -> list[str]:
        """Change the files; the paths of those that are not as the last commit has them."""
        changes = [each for each in changes if each.is_file]
        contents = self.repository.contents(blob for each in changes for blob in (each.before, each.after))
        self.changed |= {each.path for each in changes}
        return replace_files(
            self.repository.folder,
            [
                Replacement(
                    each.path,
                    contents[each.before.id] if each.before else None,
                    contents[each.after.id] if each.after else None,
                )
                for each in changes
            ],
        )

    def _message(self) -> str:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return f"anamnesis: sync from {self.machine_id} at {now}"


class _InBackground:
    """Work that goes on beside ours; what it raises is raised where it is waited for."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self._error = error

    def join(self) -> None:
        self._thread.join()
        if self._error:
            raise self._error


def _side(changes: Sequence[Difference], contents: dict[str, bytes]) -> Side:
    files = [each for each in changes if each.is_file]
    return Side(
        [File(each.path, contents[each.before.id], each.before) for each in files if each.before],
        [File(each.path, contents[each.after.id], each.after) for each in files if each.after],
    )


def _is_marked(path: Path) -> bool:
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return False
    return all(any(line.startswith(marker) for line in lines) for marker in _MARKERS)


def _restless(repository: Repository) -> GitFailed:
    return GitFailed(f"Files in {repository.folder} change all the time.", "Sync again when they rest.")
