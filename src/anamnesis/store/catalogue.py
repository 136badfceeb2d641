"""The files of a store and the index over them: how the one is asked, and kept in step with the other."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import TypeVar

from anamnesis.disk import locked
from anamnesis.errors import NoteConflict, NoteNotFound, StoreUnavailable, Unwritable
from anamnesis.notes import SCOPES, TYPES, Memory, check_id
from anamnesis.readonly import is_writable
from anamnesis.store import change_log, queries
from anamnesis.store.change_log import Written
from anamnesis.store.files import NoteFile, NoteFiles, folder_of, proper_path
from anamnesis.store.index import Connection, Index
from anamnesis.store.placing import readable
from anamnesis.store.refresh import Changes, Progress
from anamnesis.store.rows import advance_folder, forget_file, has_unread, save_file, save_files
from anamnesis.store.steps import Step

# How long a reader trusts that no other program has changed a folder: looking costs some 20 µs.
_TRUST_SECONDS = 1.0

# A reader who finds a folder changed waits so long for whoever is writing; then it is content with what is entered.
_PATIENCE_SECONDS = 0.1

T = TypeVar("T")


class _News(threading.local):
    """What a thread saw and did and has not told yet. It tells nothing while it holds the lock or is telling."""

    is_alone = False
    withheld = 0
    looked = False
    changed = False
    written: Written | None = None  # everything that changed, if it was one operation of ours


class Catalogue:
    """Note files with their index, for any number of threads and processes.

    `tell` is called after a look at the folders, once a second at most or if a read found a change, and after an
    operation that changed files or the index, with what it wrote if that is all: outside of the store's lock, and not
    about what it does itself.
    """

    def __init__(self, files: NoteFiles, index: Index, tell: Callable[[bool, bool, Written | None], None]) -> None:
        self._files = files
        self._index = index
        self._tell = tell
        self._news = _News()
        self._checked = self._told = float("-inf")
        self._behind = False  # whether a change of ours is not in the index yet

    def ask(self, query: Callable[[Connection], T]) -> T:
        self.refresh_folders()
        return self._index.read(query)

    def refresh_folders(self, *, again: bool = False) -> bool:
        """Enter what other programs did to the folders, unless a look was just taken or the index is busy.

        Whether anybody had done anything.
        """
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
                    self._news.looked = True
            except StoreUnavailable:
                self._behind = True
            self._pass_on()
        return is_outdated

    def _refresh_folders(self) -> None:
        """Enter what changed in the folders; where the disk cannot be written, in a private index."""
        if is_writable(self._files.root):
            with contextlib.suppress(Unwritable):
                # Another process may be writing. It enters its own changes, and then no folder need be listed.
                with self.alone(_PATIENCE_SECONDS):
                    self._news.looked |= self._index.refresh_folders()
                return
        self._index.private().refresh_folders()

    def save(
        self,
        written: Sequence[NoteFile],
        gone: Sequence[str],
        finish: Callable[[], Sequence[Step]],
        *,
        follower: str = "",
    ) -> Written | None:
        """Enter our changes of files; if the index cannot take them now, whoever looks next finds them.

        `finish` makes these changes, and is called while they can still be taken back from the index. The changes of a
        `follower` are not told, and it need not process them. What was written is not known if the index could not take
        it, or if other files of the same notes have to be read.
        """

        def change(db: Connection) -> Written | None:
            before = change_log.last_seq(db)
            for file in written:
                save_file(db, file, lambda path: path not in gone and self._files.exists(path))
            files: dict[str, NoteFile | None] = dict.fromkeys(id for path in gone if (id := forget_file(db, path)))
            for step in finish():
                advance_folder(db, step)
            if follower:
                change_log.skip(db, follower, before, change_log.last_seq(db))
            return _written(db, before, files | {file.memory.id: file for file in written if file.memory})

        try:
            entered = self._index.write(change)
        except (NoteConflict, StoreUnavailable):
            self._behind = True
            for folder in {folder_of(path) for path in (*(file.path for file in written), *gone)}:
                self._files.touch_folder(folder)
            finish()  # if it was this that failed, it fails again
            entered = None
        else:
            if entered is None:
                self._index.refresh_unread()
        self._changed(not follower, entered)
        self._pass_on()
        return entered

    def refresh_files(
        self, stale: Mapping[str, NoteFile | None], *, patient: bool = False, steps: Sequence[Step] = ()
    ) -> bool:
        """Enter files that were edited or removed in place; if not `patient`, not if somebody is writing now.

        Where the edits are all that was done to a folder, `steps` says so, and the folder need not be listed.
        """

        def change(db: Connection) -> Written | None:
            before = change_log.last_seq(db)
            save_files(db, stale, self._files.exists)
            for step in steps:
                advance_folder(db, step)
            return _written(db, before, {file.memory.id: file for file in stale.values() if file and file.memory})

        try:
            written = self._index.write_found(change, patient=patient)
        except StoreUnavailable:
            return False
        if self._index.is_private:
            return True
        if written is None:
            self._index.refresh_unread()
        if patient:
            self._changed(bool(stale), written)
        else:
            self._news.looked |= bool(stale)
        self._pass_on()
        return True

    def refresh(self) -> Changes:
        """Look at every file's size and time, and enter what changed."""
        found = Changes.of(self._index.refresh())
        self._changed(found != Changes(0, 0, 0))
        self._pass_on()
        return found

    def rebuild(self, progress: Progress | None) -> None:
        """Make the index anew from the files."""
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
        """The files where notes of these ids belong; the index is not asked."""
        return {memory_id: file for memory_id in ids if (file := self._read(memory_id, ""))}

    def known(self, ids: Collection[str]) -> dict[str, NoteFile]:
        """The files that hold notes: where the index says, or else where they belong."""
        return self._find(ids, probing=True, renamed=False)[0]

    def readable(self, ids: Collection[str], *, renamed: bool) -> dict[str, NoteFile]:
        """The files that stand for notes, but for those that cannot be read. Edits in place are entered."""
        found, entered = self._find(ids, probing=False, renamed=renamed)
        stale = {file.path: file for memory_id, file in found.items() if entered.get(memory_id) != file.hash}
        if stale:
            self.refresh_files(stale)
        return {memory_id: file for memory_id, file in found.items() if file.memory}

    def _find(
        self, ids: Collection[str], *, probing: bool, renamed: bool
    ) -> tuple[dict[str, NoteFile], dict[str, bytes]]:
        """The files that hold notes, and the hashes that the index has of them.

        Who wants no file that cannot be read need not look for it where it belongs.
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
        proper = (proper_path(scope, kind, memory_id) for scope in SCOPES for kind in TYPES)
        for path in chain([known] if known else [], filter(self._files.exists, proper)):
            file = self._files.read(path)
            if file and (file.memory is None or file.memory.id == memory_id):
                return file
        return None

    @contextlib.contextmanager
    def alone(self, timeout: float = 60.0) -> Iterator[None]:
        """One reader-then-writer of a note at a time, among threads and processes; a thread that is alone stays so."""
        if self._news.is_alone:
            yield
            return
        with self.one_operation(), locked(self._files.root / "store.lock", timeout):
            self._news.is_alone = True
            try:
                yield
            finally:
                self._news.is_alone = False

    @contextlib.contextmanager
    def one_operation(self) -> Iterator[None]:
        """What happens in here is told once, at its end."""
        self._news.withheld += 1
        try:
            yield
        finally:
            self._news.withheld -= 1
        self._pass_on()

    def _changed(self, is_changed: bool, written: Written | None = None) -> None:
        if is_changed:
            self._news.written = None if self._news.changed else written
            self._news.changed = True

    def _pass_on(self) -> None:
        news = self._news
        if news.withheld or not (news.looked or news.changed):
            return
        news.withheld += 1
        try:
            self._tell(news.looked, news.changed, news.written)
        finally:
            news.withheld -= 1
            news.looked = news.changed = False
            news.written = None


def _written(db: Connection, before: int, files: dict[str, NoteFile | None]) -> Written | None:
    """What a transaction wrote, if these files are all that changed since and stand for their notes."""
    standing = {id: hash for id, (_, hash) in queries.standing(db, files).items()}
    is_all = change_log.notes_after(db, before) <= files.keys()
    if not is_all or has_unread(db) or standing != {id: file.hash for id, file in files.items() if file}:
        return None
    return Written(files, before, change_log.last_seq(db), queries.superseding(db, files))
