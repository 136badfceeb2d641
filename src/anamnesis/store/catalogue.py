"""Queries the index of a store, and refreshes it from the note files."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TypeVar

from anamnesis.disk import locked
from anamnesis.errors import NoteConflict, NoteNotFound, StoreUnavailable, Unwritable
from anamnesis.notes import SCOPES, TYPES, Memory, check_id
from anamnesis.readonly import is_writable
from anamnesis.store import change_log, queries
from anamnesis.store.change_log import Written
from anamnesis.store.files import TREES, NoteFile, NoteFiles, folder_of
from anamnesis.store.index import Connection, Index
from anamnesis.store.placing import readable
from anamnesis.store.refresh import Progress, RefreshCounts
from anamnesis.store.rows import advance_folder, has_unread, save_files
from anamnesis.store.steps import Step

# Seconds before a read checks again whether another program changed a folder; a check costs about 20 µs.
_TRUST_SECONDS = 1.0

# Seconds that a read waits for another writer before it answers from the index as it is.
_PATIENCE_SECONDS = 0.1

_FOLDERS = tuple(f"{TREES[scope]}/{kind}" for scope in SCOPES for kind in TYPES)

T = TypeVar("T")


class _News(threading.local):
    """Per-thread pending notifications. None is sent while the thread holds the lock or runs a callback."""

    is_alone = False
    withheld = 0
    checked = False
    changed = False
    written: Written | None = None  # everything that changed, if a single operation of ours changed it


class Catalogue:
    """Note files with their index, for any number of threads and processes.

    `notify` is called after a check of the folders, at most once a second or when a read found a change, and after an
    operation that changed files or the index, with what it wrote if nothing else changed. It runs outside of the
    store's lock, and is not called for its own changes. What was written is collected only while `is_followed`.
    """

    def __init__(
        self,
        files: NoteFiles,
        index: Index,
        notify: Callable[[bool, bool, Written | None], None],
        is_followed: Callable[[], bool],
    ) -> None:
        self._files = files
        self._index = index
        self._notify = notify
        self._is_followed = is_followed
        self._news = _News()
        self._checked = self._told = float("-inf")
        self._behind = False  # whether a change of ours is not in the index yet
        self._entering = threading.Lock()  # held while notes that clients know of are not in the index yet

    def ask(self, query: Callable[[Connection], T]) -> T:
        self.refresh_folders()
        return self._index.read(query)

    def refresh_folders(self, *, again: bool = False) -> bool:
        """Index what other programs changed in the folders, unless these were just checked or the index is busy.

        Returns whether there was such a change.
        """
        if self._entering.acquire(timeout=_PATIENCE_SECONDS):
            self._entering.release()
        now = time.monotonic()
        is_outdated = False
        if again or self._behind or now - self._checked > _TRUST_SECONDS:
            self._behind = False
            try:
                is_outdated = self._index.is_outdated()
                if is_outdated:
                    self._refresh_folders()
                self._checked = now
                if now - self._told > _TRUST_SECONDS:
                    self._told = now
                    self._news.checked = True
            except StoreUnavailable:
                self._behind = True
            self._pass_on()
        return is_outdated

    def _refresh_folders(self) -> None:
        """Index what changed in the folders; in a private index if the disk cannot be written."""
        if is_writable(self._files.root):
            with contextlib.suppress(Unwritable):
                # Another process may be writing: it indexes its own changes, and then no folder has to be listed.
                with self.alone(_PATIENCE_SECONDS):
                    self._news.checked |= self._index.refresh_folders()
                return
        self._index.private().refresh_folders()

    def save(
        self,
        written: Sequence[NoteFile],
        gone: Sequence[str],
        finish: Callable[[], Sequence[Step]],
        *,
        former: Iterable[NoteFile] = (),
        follower: str = "",
        placed: Callable[[], object] | None = None,
    ) -> Written | None:
        """Index our changes of files; if the index cannot be written now, the next refresh finds them.

        `former` files are indexed first if an editor has changed them, so that no version is missed. `finish` makes
        these changes, and is called while the transaction can still be rolled back. The changes of a `follower` trigger
        no callback and are not pending for it. `placed` is called when the files are in place; from then on, other
        threads of this process wait for the index. Returns None if the index could not be written, if other files of
        the same notes have to be read, or if the store is not followed.
        """

        def change(db: Connection) -> tuple[Written | None, bool]:
            before = change_log.last_seq(db)
            unknown = {file.path: file for file in former if not queries.is_known(db, file.path, file.hash)}
            save_files(db, unknown, self._files.exists)
            paths: dict[str, NoteFile | None] = {file.path: file for file in written}
            paths |= dict.fromkeys(gone)
            entered = save_files(db, paths, lambda path: path not in gone and self._files.exists(path))
            files: dict[str, NoteFile | None] = dict.fromkeys(entered.removed)
            for step in finish():
                advance_folder(db, step)
            files |= {file.memory.id: file for file in written if file.memory}
            return self._outcome(db, before, files, follower, is_all=entered.only_added and not unknown)

        try:
            with self._entering if placed else contextlib.nullcontext():
                if placed:
                    finish()
                    placed()
                entered, is_unread = self._index.write(change)
        except (NoteConflict, StoreUnavailable):
            self._behind = True
            for folder in {folder_of(path) for path in (*(file.path for file in written), *gone)}:
                self._files.touch_folder(folder)
            finish()  # raises again if it was `finish` that failed
            entered = None
        else:
            if is_unread:
                self._index.refresh_unread()
        self._changed(not follower, entered)
        self._pass_on()
        return entered

    def refresh_files(
        self, stale: Mapping[str, NoteFile | None], *, patient: bool = False, steps: Sequence[Step] = ()
    ) -> bool:
        """Index files that were edited or removed in place; unless `patient`, only if no other writer is active.

        A folder that changed only by `steps` need not be listed.
        """

        def change(db: Connection) -> tuple[Written | None, bool]:
            before = change_log.last_seq(db)
            save_files(db, stale, self._files.exists)
            for step in steps:
                advance_folder(db, step)
            return self._outcome(db, before, {file.memory.id: file for file in stale.values() if file and file.memory})

        try:
            written, is_unread = self._index.write_found(change, patient=patient)
        except StoreUnavailable:
            return False
        if self._index.is_private:
            return True
        if is_unread:
            self._index.refresh_unread()
        if patient:
            self._changed(bool(stale), written)
        else:
            self._news.checked |= bool(stale)
        self._pass_on()
        return True

    def refresh(self) -> RefreshCounts:
        """Compare every file's size and mtime with the index, and index what changed."""
        found = RefreshCounts.of(self._index.refresh())
        self._changed(found != RefreshCounts(0, 0, 0))
        self._pass_on()
        return found

    def rebuild(self, progress: Progress | None) -> None:
        """Rebuild the index from the files."""
        self._index.rebuild(progress)
        self._changed(True)
        self._pass_on()

    def located(self, memory_id: str) -> tuple[NoteFile, Memory]:
        """The file that holds a note, and the note."""
        found = self.find([check_id(memory_id)]).get(memory_id)
        if found is None:
            raise NoteNotFound(f"No note has the id {memory_id}.", "`anamnesis list` shows the ids.")
        return found, readable(found)

    def find(self, ids: Collection[str]) -> dict[str, NoteFile]:
        """The files that hold notes, also if they have just been renamed."""
        return self._find(ids, probing=True, renamed=True)[0]

    def in_place(self, ids: Collection[str]) -> dict[str, NoteFile]:
        """The files of these ids at their proper paths; does not query the index."""
        return {memory_id: file for memory_id in ids if (file := self._read(memory_id, ""))}

    def known(self, ids: Collection[str]) -> dict[str, NoteFile]:
        """The files that hold notes: at their paths in the index, or else at their proper paths."""
        return self._find(ids, probing=True, renamed=False)[0]

    def readable(self, ids: Collection[str], *, renamed: bool) -> dict[str, NoteFile]:
        """The files that stand for notes, without unreadable ones. Files that were edited in place are indexed."""
        found, entered = self._find(ids, probing=False, renamed=renamed)
        stale = {file.path: file for memory_id, file in found.items() if entered.get(memory_id) != file.hash}
        if stale:
            self.refresh_files(stale)
        return {memory_id: file for memory_id, file in found.items() if file.memory}

    def _find(
        self, ids: Collection[str], *, probing: bool, renamed: bool
    ) -> tuple[dict[str, NoteFile], dict[str, bytes]]:
        """The files that hold notes, and their hashes in the index.

        Without `probing`, notes that are not in the index are not searched for at their proper paths.
        """
        standing: dict[str, tuple[str, bytes]] = {}
        if ids:
            with contextlib.suppress(StoreUnavailable):
                standing = self.ask(lambda db: queries.standing(db, ids))
        asked = ids if probing or self._behind else standing
        read = {memory_id: self._read(memory_id, standing.get(memory_id, ("",))[0]) for memory_id in asked}
        found = {memory_id: file for memory_id, file in read.items() if file}
        entered = {memory_id: hash for memory_id, (_, hash) in standing.items()}
        missing = [memory_id for memory_id in ids if memory_id not in found]
        if renamed and missing and self.refresh_folders(again=True):
            others, hashes = self._find(missing, probing=probing, renamed=False)
            return found | others, entered | hashes
        return found, entered

    def _read(self, memory_id: str, known: str) -> NoteFile | None:
        proper = (path for folder in _FOLDERS if self._files.exists(path := f"{folder}/{memory_id}.md"))
        for path in chain([known] if known else [], proper):
            file = self._files.read(path)
            if file and (file.memory is None or file.memory.id == memory_id):
                return file
        return None

    @contextlib.contextmanager
    def alone(self, timeout: float = 60.0) -> Iterator[None]:
        """Hold the store's lock: one thread or process at a time reads a note and then writes it. Reentrant."""
        if self._news.is_alone:
            yield
            return
        with self.one_operation(), locked(self._files.absolute("store.lock"), timeout):
            self._news.is_alone = True
            try:
                yield
            finally:
                self._news.is_alone = False

    @contextlib.contextmanager
    def one_operation(self) -> Iterator[None]:
        """Defer notifications to the end of the block, and send them once."""
        self._news.withheld += 1
        try:
            yield
        finally:
            self._news.withheld -= 1
        self._pass_on()

    def _outcome(
        self,
        db: Connection,
        before: int,
        files: dict[str, NoteFile | None],
        follower: str = "",
        *,
        is_all: bool = False,
    ) -> tuple[Written | None, bool]:
        """What a transaction wrote, if the store is followed, and whether it left files that must be read again.

        The cursor of a `follower` moves past its own changes. A follower gets what it wrote even if that is not
        `is_all`, i.e. if other notes changed too.
        """
        last = change_log.last_seq(db)
        if follower:
            change_log.skip(db, follower, before, last)
        if has_unread(db):
            return None, True
        if follower or (self._is_followed() and (is_all or _is_all(db, before, files))):
            return Written(files, before, last, queries.superseding(db, files)), False
        return None, False

    def _changed(self, is_changed: bool, written: Written | None = None) -> None:
        if is_changed:
            self._news.written = None if self._news.changed else written
            self._news.changed = True

    def _pass_on(self) -> None:
        news = self._news
        if news.withheld or not (news.checked or news.changed):
            return
        news.withheld += 1
        try:
            self._notify(news.checked, news.changed, news.written)
        finally:
            news.withheld -= 1
            news.checked = news.changed = False
            news.written = None


def _is_all(db: Connection, before: int, files: dict[str, NoteFile | None]) -> bool:
    """Whether a transaction changed no other notes than these, and their files stand for them."""
    standing = {id: hash for id, (_, hash) in queries.standing(db, files).items()}
    is_all = change_log.notes_after(db, before) <= files.keys()
    return is_all and standing == {id: file.hash for id, file in files.items() if file}
