"""One sync: commit what changed here, merge what changed elsewhere, push.

Every step can be killed: the files are changed before the branch moves, and the next sync finishes what was begun.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from anamnesis.git import GitFailed
from anamnesis.store.files import ACCEPTED, digest
from anamnesis.store.shared_notes import SharedNotes
from anamnesis.store.steps import Step
from anamnesis.store.tombstones import purged_ids
from anamnesis.sync.backend import BOTH_KEPT, Announce, SyncResult
from anamnesis.sync.bare_ids import lines_for, receive_ids
from anamnesis.sync.checkpoint import Checkpoint
from anamnesis.sync.integrate import File, Side, integrate
from anamnesis.sync.remote import Foreign, Rejected, Remote, has_sync
from anamnesis.sync.repository import LEFT_BY_MERGE, MESSAGE, FileStatus, Repository
from anamnesis.sync.tree import Blob, Difference
from anamnesis.sync.worktree import Replacement, replace_files

SHORT = 7
# Retries of a sync when another program edits files or another machine pushes at the same moment.
_MOST_ROUNDS = 20
_MARKERS = (b"<" * 7, b">" * 7)  # git uses longer ones when it merges a merge


@dataclass(slots=True)
class Cycle:
    """The progress of one sync."""

    repository: Repository
    remote: Remote | None
    machine_id: str
    announce: Announce
    head: str = ""
    only: list[str] | None = None  # the files to compare, in the first round; None for all
    is_trusted: bool = False  # whether the head is one that a sync made
    is_complete: bool = True  # whether all files that changed could be committed
    is_merged: bool = False  # whether branch, git's index and files agree
    pulled: int = 0
    pushed: bool = False
    committed: bool = False
    conflicted: bool = False
    decided: list[str] = field(default_factory=list)
    changed: set[str] = field(default_factory=set)
    written: dict[str, bytes | None] = field(default_factory=dict)  # hashes of the files
    steps: list[Step] = field(default_factory=list)
    received: list[Difference] = field(default_factory=list)
    sent: tuple[str, str] | None = None  # commits of the remote before and after
    included: set[str] = field(default_factory=set)  # commits known to be in the history of the head
    # For a head and another commit: their merge base, and how many commits of the other the head lacked.
    compared: dict[tuple[str, str], tuple[str, int]] = field(default_factory=dict)

    def trust(self, last: Checkpoint) -> None:
        """Start from where the last sync ended."""
        self.head, self.is_trusted = last.head, True
        if last.tree:
            self.repository.trees = {last.head: last.tree}

    @property
    def is_consistent(self) -> bool:
        """Whether the next sync may start from where this one ended."""
        return self.is_complete and self.is_merged and bool(self.head)

    def run(self) -> SyncResult:
        fetching = _InBackground(self.remote.fetch) if self.remote else None
        self._commit_all()
        if self.remote is None or fetching is None:
            done = "committed locally" if self.committed else "nothing to commit"
            return self._result(f"{done}; no remote configured")
        try:
            self.announce(f"Fetching from {self.remote.host}")
            fetching.join()
            self._exchange(self.remote)
        except GitFailed as error:
            done = "committed locally; " if self.committed else ""
            reason = error.message
            if not isinstance(error, Foreign):
                reason = f"the remote cannot be used now: {reason.rstrip('.')} (setting `remote`: {self.remote.shown})"
            return self._result(f"{done}{reason}", reached=False)
        return self._result(BOTH_KEPT if self.conflicted else "synced")

    def _result(self, detail: str, *, reached: bool = True) -> SyncResult:
        return SyncResult(
            self.pushed,
            self.pulled,
            self.conflicted,
            self.head[:SHORT],
            detail,
            reached,
            tuple(sorted(self.changed)),
            self.written,
            tuple(self.steps),
            tuple(self.received),
            self.sent,
            tuple(dict.fromkeys(self.decided)),
        )

    def _commit_all(self) -> None:
        """Commit the files as they are, and merge the commits of an interrupted sync, merge or rebase."""
        for _ in range(_MOST_ROUNDS):
            self.is_complete = self._commit()
            unfinished = self.repository.unfinished()
            if all(self._merge_in(commit) for commit in unfinished):
                if unfinished:
                    self.repository.finish()
                if self.head:
                    self.repository.move_to(self.head)
                self.is_merged = True
                return
        raise _always_changing(self.repository)

    def _commit(self) -> bool:
        """Commit the files as they are; false if some have to be committed later."""
        self.head = self.head or self.repository.head()
        if not self.is_trusted and (blocking := self.repository.blocking(self.head)):
            self._move(self.repository.commit_changes(blocking, [self.head], self._message()))
        self.is_trusted = True
        status = self.repository.status() if self.only is None else FileStatus(self.only, [])
        self.only = None  # later rounds compare all files
        if ACCEPTED in status.changed and self._restore_decisions():
            status.changed.remove(ACCEPTED)
        if not status.changed:
            return True
        is_complete = self.repository.stage_files(status.changed)
        before = self.head
        message = f"{self._message()}\n\n{lines_for(self.repository, status.changed)}".rstrip("\n")
        self._move(self.repository.commit([before] if before else [], message))
        self.changed |= set(status.changed)
        for path in status.changed:
            self.written.pop(path, None)
        marked = self._marked(status, before)
        if marked:
            self._undo_markers(marked, before)
        return is_complete

    def _restore_decisions(self) -> bool:
        """Write the file of what the user has accepted again, if somebody has deleted it; whether it has."""
        blob = self.repository.line("rev-parse", "--verify", "--quiet", f"{self.head}:{ACCEPTED}")
        if not blob or (self.repository.folder / ACCEPTED).exists():
            return False
        return not self._apply([Difference(ACCEPTED, None, Blob("100644", blob))])

    def _move(self, commit: str) -> None:
        """Make a new commit of the files the head."""
        self.committed |= commit != self.head
        self.included.add(self.head)
        self.head = commit

    def _marked(self, status: FileStatus, before: str) -> list[str]:
        """Files in which a merge has left its markers; a killed sync may have staged them as resolved.

        Its path may be one that neither side has: git follows folders that it takes for renamed ones.
        """
        paths = status.changed if self.repository.is_merging else status.unmerged
        marked = [path for path in paths if _is_marked(self.repository.folder / path)]
        merged = [before, LEFT_BY_MERGE, *self.repository.unfinished()] if marked else []
        unmerged = {*status.unmerged}
        return [path for path in marked if path in unmerged or any(self.repository.has(tree, path) for tree in merged)]

    def _undo_markers(self, paths: Sequence[str], before: str) -> None:
        """Replace a text with markers by the version before the merge. The other version comes with the commit that
        was being merged, and the text with the markers is in the history."""
        undone = [
            Difference(each.path, each.after, each.before)
            for each in self.repository.differences(before, self.head)
            if each.path in paths
        ]
        commit = self.repository.commit_changes(undone, [self.head], self._message())
        self._apply(undone)
        self._move(commit)

    def _exchange(self, remote: Remote) -> None:
        """Merge what the remote has and push what it lacks, until both are at the same commit."""
        known, refused = self.head, ""
        for _ in range(_MOST_ROUNDS):
            main, theirs = remote.head()
            if theirs and not self._is_joined(theirs):
                remote.check(theirs)
            self.announce("Merging")
            if theirs and not self._merge_in(theirs):
                self._commit_all()
                continue
            if theirs and self.head != known:
                self.repository.finish()
                compared = self.compared.get((known, theirs))
                self.pulled = compared[1] if compared else self.repository.count_missing(theirs, known)
            if self.head == main:
                return
            self.announce(f"Sending to {remote.host}")
            try:
                remote.push(self.head)
            except Rejected as error:
                refused = f" ({error.message})"
                remote.fetch()
            else:
                self.pushed = True
                self.sent = theirs, self.head
                return
        raise GitFailed(f"Other machines push all the time{refused}.", "Sync again in a while.")

    def _is_joined(self, theirs: str) -> bool:
        """Whether a remote is known to hold these notes: it is at the commit of the last sync or a later one, or has
        diverged from an earlier sync."""
        if theirs in self.included:
            return True
        base = self._base(theirs)
        return bool(base) and (base == self.head or has_sync(self.repository, base))

    def _merge_in(self, theirs: str) -> bool:
        """Merge a commit into the files and the branch; false if another program has just changed one of the files."""
        base = self._base(theirs)
        if base == theirs:
            return True
        self.is_merged = False
        purged = purged_ids(self.repository.folder.parent)
        changes = self.repository.differences(self.head, theirs) if base == self.head else []
        if base == self.head and not (purged and self._has_purged(changes, purged)):
            wanted = [each for each in changes if not each.is_refused]
            commit = theirs
            if wanted == changes:
                self.repository.stage(changes)
            else:  # what is refused is not checked out, and other machines do not get it
                commit = self.repository.commit_changes(wanted, [theirs], self._message())
        else:
            commit, wanted = self._merge(base, theirs, purged)
        self.repository.begin(commit)
        if self._apply(wanted, theirs):
            return False
        self.received += wanted
        self.included |= {self.head, theirs}
        self.head = commit
        self.repository.move_to(commit)
        self.is_merged = True
        return True

    def _base(self, theirs: str) -> str:
        """The last commit that the head and another one have in common; "" if there is none."""
        if not self.head or theirs == self.head or theirs in self.included:
            return theirs if self.head else ""
        if (self.head, theirs) not in self.compared:
            only_ours, only_theirs = self.repository.divergence(self.head, theirs)
            base = theirs if not only_theirs else self.head
            if only_ours and only_theirs:
                base = self.repository.common(self.head, theirs)
            self.compared[self.head, theirs] = base, only_theirs
        return self.compared[self.head, theirs][0]

    def _has_purged(self, changes: Sequence[Difference], purged: Collection[str]) -> bool:
        """Whether a note that was purged here is among the new files."""
        added = [each.after for each in changes if each.is_file and each.after]
        contents = self.repository.contents(added)
        return any(File(".md", data).note_id in purged for data in contents.values())

    def _merge(self, base: str, theirs: str, purged: Collection[str]) -> tuple[str, list[Difference]]:
        """A merge commit, and what it changes of our files.

        It has neither files of theirs that block a note type's folder nor notes that were purged here.
        """
        ours_changed = self.repository.differences(base, self.head) if base != self.head else []
        theirs_changed = [each for each in self.repository.differences(base, theirs) if not each.is_refused]
        files = [each for each in (*ours_changed, *theirs_changed) if each.is_file]
        contents = self.repository.contents(blob for each in files for blob in (each.before, each.after))
        result = integrate(_side(ours_changed, contents), _side(theirs_changed, contents), purged)
        self.conflicted |= result.conflicted
        self.decided += result.decided
        new = [file for file in result.files.values() if file.blob is None]
        stored = dict(zip((file.path for file in new), self.repository.store([file.data for file in new]), strict=True))
        changes = [each for each in theirs_changed if not each.is_file]
        changes += [Difference(path, None, None) for path in result.removed]
        for path, file in result.files.items():
            blob = file.blob if isinstance(file.blob, Blob) else stored[path]
            changes.append(Difference(path, None, blob))
        parents = [each for each in (self.head, theirs) if each]
        commit = self.repository.commit_changes(changes, parents, self._message())
        return commit, self.repository.differences(self.head, commit)

    def _apply(self, changes: Sequence[Difference], theirs: str = "") -> list[str]:
        """Change the files; returns the paths of files that differed from the last commit and were left alone."""
        changes = [each for each in changes if each.is_file]
        contents = self.repository.contents(blob for each in changes for blob in (each.before, each.after))
        wanted = [
            Replacement(
                each.path,
                contents[each.before.id] if each.before else None,
                contents[each.after.id] if each.after else None,
            )
            for each in changes
        ]
        if theirs:
            added = {each.path: each.after for each in wanted if each.after is not None}
            receive_ids(self.repository, theirs, added)
            with contextlib.closing(SharedNotes(self.repository.folder.parent)) as shared:
                shared.doubt({note_id for path, data in added.items() if (note_id := File(path, data).note_id)})
        replaced = replace_files(self.repository.folder, wanted)
        self.changed |= {each.path for each in changes}
        self.written |= {each.path: None if each.after is None else digest(each.after) for each in wanted}
        for path in replaced.left:
            del self.written[path]
        self.steps += replaced.steps
        return replaced.left

    def _message(self) -> str:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return f"{MESSAGE} {self.machine_id} at {now}"


class _InBackground:
    """Work in another thread. `join` raises the error of the work, if there is one."""

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


def _always_changing(repository: Repository) -> GitFailed:
    return GitFailed(f"Files in {repository.folder} change all the time.", "Sync again when nothing writes there.")
