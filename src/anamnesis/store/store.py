"""MemoryStore: notes in files, and an index over them. A note's file is written before it is indexed."""

from __future__ import annotations

import builtins
import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from anamnesis.config import DEFAULT_VERSIONS
from anamnesis.disk import size_and_mtime
from anamnesis.errors import InvalidArgument, NoteConflict, NoteNotFound, StoreUnavailable
from anamnesis.notes import Memory, MemoryType, Scope, check_id, check_readable, validate
from anamnesis.notes.foreign import SOURCE, Origin, unaccepted
from anamnesis.store import queries
from anamnesis.store.catalogue import Catalogue
from anamnesis.store.change_log import ChangeLog, Written
from anamnesis.store.files import ACCEPTED, TREES, NoteFile, NoteFiles, Trashed, note_path
from anamnesis.store.ids import UlidMaker, changed_at, utcnow
from anamnesis.store.index import Connection, Index
from anamnesis.store.kept import KeptVersions
from anamnesis.store.note_reader import Hit, NoteReader, hits_with_origins
from anamnesis.store.placing import of_new_type, place, readable, with_foreign_lines, without_secrets
from anamnesis.store.question import Question
from anamnesis.store.ranking import Ranking
from anamnesis.store.refresh import Progress, RefreshCounts
from anamnesis.store.steps import Step
from anamnesis.store.tombstones import exhume, is_purged

if TYPE_CHECKING:
    from anamnesis.store.accepted import Accepted
    from anamnesis.store.gate_log import GateLog
    from anamnesis.store.shared_notes import SharedNotes
    from anamnesis.store.usage import Usage

# Up to about this many files, indexing them one by one is quicker than listing all files.
_MANY_FILES = 1_000
# The folder of records of changes of several notes, and the record of an incomplete change; see `changeset`.
DREAMS, PENDING = "dreams", "pending.json"
CHANGEABLE = frozenset(field.name for field in fields(Memory)) - {"id", "updated_at"}


# The decisions about machine-local notes, which are first written when those of earlier releases have been read. Until
# then, the file is empty in a home that no earlier release has used.
CARRIED_OVER = f"{TREES['machine-local']}/{ACCEPTED}"
# One of these is in every home that a release has used: a copy or a clone of the notes alone has none.
_EARLIER = ("index.db", "kept.db", "usage.db")


class SavedNotes(NamedTuple):
    """Files as they were written, and what the index recorded of them; None if other files have to be read too."""

    files: builtins.list[NoteFile]
    written: Written | None


class MemoryStore(NoteReader):
    """The notes under one root. Any number of threads and processes may use it at once."""

    def __init__(self, root: Path | str, *, only_to_read: bool = False, versions: int = DEFAULT_VERSIONS) -> None:
        """Open the notes under `root`, which is created unless they are `only_to_read`.

        Of each note, at most this many replaced `versions` are kept.
        """
        self.root = Path(root).expanduser().absolute()
        self.memory_dir = self.root / TREES["portable"]
        self.local_dir = self.root / TREES["machine-local"]
        self.db_path = self.root / "index.db"
        self.kept = KeptVersions(self.root, versions)
        self._files = NoteFiles(self.root, self.kept, only_to_read=only_to_read)
        self._index = Index(self.db_path, self._files, self.kept, self._find_idle)
        # `on_refresh` is called after a check of the folders and after a read that found notes changed, `on_change`
        # after each operation that changed notes, with what it wrote if nothing else changed. Both run in the thread
        # of the operation, after it and outside of the store's lock, and not for their own changes; their errors
        # propagate to its caller.
        self.on_refresh: Callable[[], None] | None = None
        self.on_change: Callable[[Written | None], None] | None = None
        self._catalogue = Catalogue(self._files, self._index, self._notify, lambda: self.on_change is not None)
        self.log = ChangeLog(self._index, self._catalogue.refresh_folders)
        self.ranking = Ranking(self._index, self.log, self._catalogue.ask, lambda: self.usage, self.root / "vectors.db")
        self._ids = UlidMaker()
        if self.has_earlier_tags and not any(map(os.path.exists, map(self.root.joinpath, _EARLIER))):
            self._ignore_tags(only_to_read)
        self._catalogue.refresh_folders()
        if not only_to_read and os.path.exists(f"{self.root}/{DREAMS}/{PENDING}"):
            self._recover()
        if not only_to_read and not self.has_carried_over:
            self._carry_over()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.ranking.close()
        self._index.close()
        self.kept.close()
        for name in ("usage", "decisions", "shared"):
            if name in self.__dict__:
                getattr(self, name).close()

    def _recover(self) -> None:
        """Roll back a killed change of several notes; one that is still running holds the lock, and is left alone."""
        from anamnesis.store import changeset  # hardly ever

        with contextlib.suppress(StoreUnavailable, NoteConflict), self._catalogue.alone(0.0):
            changeset.recover(self)

    def _ignore_tags(self, only_to_read: bool) -> None:
        """Record that no earlier release has used this home: the tags of notes from elsewhere accept nothing here."""
        if not only_to_read or self.root.is_dir():
            with contextlib.suppress(OSError):
                self.local_dir.mkdir(mode=0o700, exist_ok=True)
                (self.root / CARRIED_OVER).touch(mode=0o600)

    def _carry_over(self) -> None:
        """Record what was accepted in an earlier release, unless another process is writing: then the next one does."""
        from anamnesis.store.origins import carry_over  # once

        with contextlib.suppress(StoreUnavailable), self._catalogue.alone():
            carry_over(self)
            self._catalogue.refresh_folders(again=True)  # the new file has changed its folder

    @cached_property
    def usage(self) -> Usage:
        """The record of use of the notes on this machine."""
        from anamnesis.store.usage import Usage  # no hook needs it

        return Usage(self.root)

    @cached_property
    def decisions(self) -> GateLog:
        """The gate's decisions about notes of agents on this machine."""
        from anamnesis.store.gate_log import GateLog  # no hook needs it

        return GateLog(self.root)

    @property
    def has_shared(self) -> bool:
        """Whether this machine has, or had, notes of a shared space; also if the record of their authors is lost."""
        return os.path.exists(f"{self.root}/shared.db") or os.path.exists(f"{self.root}/hub.db")

    @cached_property
    def shared(self) -> SharedNotes:
        """The notes of shared spaces on this machine, and who else wrote them."""
        from anamnesis.store.shared_notes import SharedNotes  # only a machine with a hub has some

        return SharedNotes(self.root)

    @property
    def has_carried_over(self) -> bool:
        """Whether what earlier releases recorded in tags about acceptance has been read, for the only time."""
        seen = size_and_mtime(f"{self.root}/{CARRIED_OVER}")
        return bool(seen and seen[0])

    @property
    def has_earlier_tags(self) -> bool:
        """Whether an earlier release may have recorded acceptances of this user in the tags of notes."""
        return not os.path.exists(f"{self.root}/{CARRIED_OVER}")

    @cached_property
    def accepted(self) -> Accepted:
        """The user's decisions about texts of others."""
        from anamnesis.store.accepted import Accepted  # most memories have none

        return Accepted(self.root, self._catalogue.alone)

    def origins(self, notes: Iterable[Memory]) -> dict[str, Origin]:
        """Whose those of the notes are that other members of a team, other programs or unreviewed agents wrote."""
        given = {note.id: note for note in notes}
        fronts = self._catalogue.ask(lambda db: queries.fronts(db, given))
        given |= {id: replace(given[id], extra=extra) for id, extra in fronts.items() if not given[id].extra}
        return self.origins_of_whole(given)

    def origins_of_whole(self, notes: Mapping[str, Memory]) -> dict[str, Origin]:
        """The origins of notes that are given with all their front matter, by their ids, without opening the index."""
        is_plain = all(each.prov_source != SOURCE and not each.extra for each in notes.values())
        if is_plain and self.has_carried_over and not self.has_shared:
            return {}
        from anamnesis.store.origins import origins_of  # most memories have no notes of others

        return origins_of(self, notes)

    def decide(self, notes: Iterable[Memory], decision: str) -> None:
        """Record that the user accepts the texts of those of the notes that others wrote, or withdraws that."""
        given = [*notes]
        origins = self.origins(given)
        self.accepted.decide([note for note in given if note.id in origins], decision)
        self._notify(True, False, None)  # an accepted note hides those that it supersedes

    def withdraw(self, notes: Iterable[Memory]) -> None:
        """Record that these notes wait for the user again."""
        from anamnesis.notes.acceptance import WITHDRAWN  # rarely needed

        self.accepted.decide(notes, WITHDRAWN)
        self._notify(True, False, None)

    def hiders_in_doubt(self) -> builtins.list[Memory]:
        """The notes that supersede or outdate others, and whose texts count once the user has accepted them."""
        return self._catalogue.ask(self._hiders_in_doubt)

    def decided_at(self) -> object:
        """What changes with what the user has accepted, and with what is known of the authors of notes."""
        shared = f"{self.root}/shared.db"
        return self.accepted.stamp(), size_and_mtime(shared), size_and_mtime(f"{shared}-wal")

    def _hiders_in_doubt(self, db: Connection) -> builtins.list[Memory]:
        return queries.hiders_in_doubt(db, self.shared.by_others() if self.has_shared else ())

    def _find_idle(self, db: Connection) -> frozenset[str]:
        """The notes that hide nothing, because the user has not accepted them."""
        known, decided = db.learned().idle, self.decided_at()
        if decided not in known:
            notes = {note.id: note for note in self._hiders_in_doubt(db)}
            known[decided] = unaccepted(self.origins_of_whole(notes))
        return known[decided]

    def _hits(self, asked: Question) -> builtins.list[Hit]:
        return hits_with_origins(super()._hits(asked), self.origins)

    @property
    def is_empty(self) -> bool:
        """Whether the folder of portable notes is missing or empty, without even a folder for a type."""
        try:
            with os.scandir(self.memory_dir) as entries:
                return next(entries, None) is None
        except OSError:
            return True

    def write(
        self,
        *,
        type: MemoryType,
        title: str,
        body: str,
        project: str = "global",
        machine_id: str = "unknown",
        tags: builtins.list[str] | None = None,
        scope: Scope = "portable",
        prov_source: str = "human",
        prov_model: str = "",
        prov_session: str = "",
        confidence: float = 1.0,
        supersedes: str | builtins.list[str] = "",
        extra: dict[str, str] | None = None,
    ) -> Memory:
        """Create a note: its file, then its index entry. `extra` has other front-matter lines, such as its space."""
        now = utcnow()
        memory = Memory(
            id=self._ids.next(),
            type=type,
            title=title,
            body=body,
            project=project,
            machine_id=machine_id,
            scope=scope,
            tags=tags or [],
            created_at=now,
            updated_at=now,
            prov_source=prov_source,
            prov_model=prov_model,
            prov_session=prov_session,
            confidence=confidence,
            supersedes=supersedes,
            extra=extra or {},
        )
        memory = without_secrets(memory)
        validate(memory)
        with self._catalogue.alone():
            return readable(*self._save([(memory, None)]).files)

    def put(self, memory: Memory) -> Memory:
        """Store a note under its own id and times, in place of the one that has this id."""
        return readable(*self._put([memory]).files)

    def put_all(self, memories: Iterable[Memory]) -> int:
        """Store many notes, each as `put` does, durable together at the end; of one id, the last."""
        return len(self._put(memories).files)

    def put_whole(
        self,
        memories: Iterable[Memory],
        former: Mapping[str, NoteFile | None],
        *,
        follower: str,
        placed: Callable[[builtins.list[NoteFile]], object] | None = None,
    ) -> SavedNotes:
        """Store many notes exactly as given, in place of their `former` files, whose foreign lines are not kept.

        A former file of None means that the note is known to have no file.

        For a follower of the log: `on_change` is not called, and these changes are not pending for it. If one of the
        files has changed since it was read, none is written. If `placed` is given, it gets the files once they are in
        place, before they are indexed, and has to have them flushed: until then, a power failure may lose them.
        """
        notes = _checked(memories)
        if not notes:
            return SavedNotes([], None)
        with self._catalogue.alone():
            new = [memory.id for memory in notes if memory.id not in former]
            found = {**former, **self._catalogue.in_place(new)}
            exhume(self.root, [memory.id for memory in notes])
            pairs = [(memory, found.get(memory.id)) for memory in notes]
            return self._save(pairs, follower=follower, placed=placed)

    def secure(self, files: Iterable[NoteFile]) -> None:
        """Flush these files to disk; files that no longer exist are skipped."""
        self._files.secure([file.path for file in files])

    def update(self, memory_id: str, *, expected: Memory | None = None, **changes: Any) -> Memory:
        """Change some fields of a note and set its `updated_at`; raises if the note is no longer as `expected`."""
        unknown = sorted(changes.keys() - CHANGEABLE)
        if unknown:
            names = ", ".join(sorted(CHANGEABLE))
            raise InvalidArgument(f"{unknown[0]!r} of a note cannot be changed.", f"These can: {names}.")
        with self._catalogue.alone():
            found, memory = self._catalogue.located(memory_id)
            if expected not in (None, memory):
                raise NoteConflict(f"Somebody else has changed the note {memory_id}.", "Look at it again.")
            new = [name for name, value in changes.items() if value != getattr(memory, name)]
            changed = without_secrets(of_new_type(memory, replace(memory, **changes)), new)
            if changed == memory:
                return memory
            changed = replace(changed, updated_at=changed_at(memory, changed))
            (validate if "project" in new else check_readable)(changed)
            twin = self._files.read(note_path(changed)) if changed.scope != memory.scope else None
            if twin and twin.memory and twin.memory.id == memory_id:
                return self._unite(changed, found, twin)
            return readable(*self._save([(changed, found)]).files)

    def _unite(self, moved: Memory, found: NoteFile, twin: NoteFile) -> Memory:
        """Store a note over the `twin` of its id in the tree that it moves to, with the text of both."""
        from anamnesis.notes.merge import merge  # rarely needed

        merged = merge(None, moved, readable(twin))
        note = replace(merged.note, scope=moved.scope)
        saved = self._save([(note, twin), *((each, None) for each in (merged.other,) if each)])
        step = self._files.discard(found.path, readable(found), utcnow())
        self._catalogue.save([], [found.path], lambda: [step])
        return readable(saved.files[0])

    def move(self, memory_id: str, scope: Scope) -> Memory:
        """Make a note portable, so that it is synced to other machines, or machine-local."""
        return self.update(memory_id, scope=scope)

    def delete(self, memory_id: str, *, follower: str = "") -> Memory:
        """Move a note's file to the trash, for `restore` to bring back; the change is not pending for `follower`."""
        with self._catalogue.alone():
            found, memory = self._catalogue.located(memory_id)
            if found.is_bare:  # in the trash, only front matter says which note it is
                (found,) = self._save([(memory, found)], follower=follower).files
            step = self._files.discard(found.path, memory, utcnow())
            self._catalogue.save([], [found.path], lambda: [step], follower=follower)
        return memory

    def restore(self, memory_id: str) -> Memory:
        """Bring back the last deleted version of a note, or unhide a note that Engram has deleted."""
        check_id(memory_id)
        if (note := self.find(memory_id)) and note.is_hidden:
            return self._show(note)
        with self._catalogue.alone():
            if self._catalogue.find([memory_id]):
                hint = f"`anamnesis history {memory_id}` shows its earlier versions, and restores one."
                raise NoteConflict(f"The note {memory_id} is not deleted.", hint)
            trashed = next((item for item in self.trashed() if item.id == memory_id), None)
            if trashed is None and is_purged(self.root, memory_id):
                raise NoteNotFound(f"The note {memory_id} was purged and cannot be brought back.")
            if trashed is None:
                raise NoteNotFound(f"No deleted note has the id {memory_id}.", "`anamnesis restore` lists them.")
            step = self._files.restore(trashed)
            file = self._files.read(trashed.home)
            self._catalogue.save([file] if file else [], [], lambda: [step])
        note = self.get(memory_id)
        return self._show(note) if note.is_hidden else note

    def _show(self, hidden: Memory) -> Memory:
        shown = {name: value for name, value in hidden.engram.items() if name != "deleted_at"}
        return self.update(hidden.id, engram=shown)

    def trashed(self) -> builtins.list[Trashed]:
        """The deleted notes, the last one first."""
        return self._files.trashed()

    def refresh(self) -> RefreshCounts:
        """Compare every file's size and mtime with the index, and index what changed."""
        return self._catalogue.refresh()

    def refresh_files(self, paths: Sequence[str], steps: Sequence[Step] = ()) -> None:
        """Refresh the index for these paths under the root, and for folders with other changes than `steps`."""
        if len(paths) > _MANY_FILES:
            self.refresh()
            return
        notes = [path for path in paths if path.endswith(".md")]
        with self._catalogue.alone():
            entered = self._index.read(lambda db: queries.seen(db, notes))  # lists no folder before the `steps`
            read = {path: self._files.read(path) for path in notes if self._files.seen(path) != entered.get(path)}
            if read or steps:
                self._catalogue.refresh_files(read, patient=True, steps=steps)
            self._catalogue.refresh_folders(again=True)

    def embed(self, progress: Callable[[int], None] | None = None) -> int:
        """Embed the notes that changed; returns how many. `progress` gets the size of each finished batch."""
        return self.ranking.embed(progress)

    def reindex(self, progress: Progress | None = None) -> int:
        """Rebuild the whole index from the files; returns how many notes it holds."""
        self._catalogue.rebuild(progress)
        return self.count()

    def _put(self, memories: Iterable[Memory]) -> SavedNotes:
        notes = _checked(memories)
        if not notes:
            return SavedNotes([], None)
        with self._catalogue.alone():
            self._catalogue.refresh_folders(again=True)
            ids = [memory.id for memory in notes]
            found = self._catalogue.known(ids)
            pairs = [(with_foreign_lines(memory, old := found.get(memory.id)), old) for memory in notes]
            exhume(self.root, ids)
            return self._save(pairs)

    def _save(
        self,
        notes: Iterable[tuple[Memory, NoteFile | None]],
        *,
        follower: str = "",
        placed: Callable[[builtins.list[NoteFile]], object] | None = None,
    ) -> SavedNotes:
        """Write notes' files and index them, each in place of the file that held it so far."""
        from anamnesis.store.writing import Writing  # that hooks which read need not import

        notes = [*notes]
        self._vouch(notes)
        paths: dict[str, Memory] = {}
        former: dict[str, NoteFile] = {}
        for memory, found in notes:
            path = place(memory, found, lambda other: other in paths or self._files.exists(other))
            paths[path] = memory
            if found:
                former[path] = found
        moved = [file.path for path, file in former.items() if file.path != path]
        with contextlib.closing(Writing(self._files, paths, former, durable=placed is None)) as writing:
            written = self._catalogue.save(
                writing.files,
                moved,
                writing.finish,
                former=former.values(),
                follower=follower,
                placed=partial(placed, writing.files) if placed else None,
            )
        return SavedNotes(writing.files, written)

    def _vouch(self, notes: Iterable[tuple[Memory, NoteFile | None]]) -> None:
        """Record that a program of the user has put these notes into the shared spaces that they name."""
        placed = [(memory, found) for memory, found in notes if memory.extra and memory.scope == "portable"]
        if not placed:
            return
        from anamnesis.notes.merge import conflict_of
        from anamnesis.notes.spaces import is_shared, space_of
        from anamnesis.store.shared_notes import Shared

        # The other version of a conflict may be another member's text.
        placed = [(memory, found) for memory, found in placed if not conflict_of(memory)]
        named = [(each, space_of(found.memory) if found and found.memory else "") for each, found in placed]
        new = [(each.id, space) for each, before in named if is_shared(space := space_of(each)) and space != before]
        if new:
            self.shared.record(Shared(*each) for each in new)

    def _notify(self, checked: bool, changed: bool, written: Written | None) -> None:
        if checked and self.on_refresh:
            self.on_refresh()
        if changed and self.on_change:
            self.on_change(written)


def _checked(memories: Iterable[Memory]) -> builtins.list[Memory]:
    """Validated notes without secrets; of several with one id, the last."""
    notes = {memory.id: without_secrets(memory) for memory in memories}
    for memory in notes.values():
        check_readable(memory)
    return [*notes.values()]
