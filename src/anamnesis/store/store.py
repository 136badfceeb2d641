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
from typing import TYPE_CHECKING, Any, NamedTuple, Self, Unpack

from anamnesis.config import DEFAULT_VERSIONS
from anamnesis.errors import InvalidArgument, NoteConflict, NoteNotFound, StoreUnavailable
from anamnesis.notes import Memory, MemoryType, Scope, check_id, validate
from anamnesis.store import queries
from anamnesis.store.catalogue import Catalogue
from anamnesis.store.change_log import ChangeLog, Written
from anamnesis.store.files import TREES, NoteFile, NoteFiles, Trashed
from anamnesis.store.ids import UlidMaker, utcnow
from anamnesis.store.index import Connection, Index
from anamnesis.store.kept import Kept
from anamnesis.store.placing import place, readable, with_foreign_lines, without_secrets
from anamnesis.store.projects import by_any_name, check_project, projects_of
from anamnesis.store.queries import Also, Filter, Problem, StoreStats, at_least_zero
from anamnesis.store.question import Marked, Mode, Question, Ranked, Why, is_weak
from anamnesis.store.ranking import Ranking
from anamnesis.store.refresh import Changes, Progress
from anamnesis.store.search import Coverage, coverage
from anamnesis.store.steps import Step
from anamnesis.store.tombstones import exhume, is_purged
from anamnesis.store.writing import Writing

if TYPE_CHECKING:
    from anamnesis.store.gate_log import GateLog
    from anamnesis.store.suggestions import Suggestions
    from anamnesis.store.usage import Usage

# How often a search that finds stale files refreshes them and repeats, so that it does not chase a file for ever.
_STALE_ROUNDS = 4
# Up to about this many files, indexing them one by one is quicker than listing all files.
_MANY_FILES = 1_000
# The records of changes of several notes, and the one of a change that is not complete; see `changeset`.
DREAMS, PENDING = "dreams", "pending.json"
CHANGEABLE = frozenset(field.name for field in fields(Memory)) - {"id", "updated_at"}


class Hit(NamedTuple):
    """A note that a search found, with its score: higher is better.

    `fit` is the probability that the note answers the query, where meaning was compared; `why` explains the score to
    those who asked for that.
    """

    memory: Memory
    score: float
    fit: float | None = None
    why: Why | None = None
    marks: Marked = Marked()

    @property
    def is_weak(self) -> bool:
        return is_weak(self.fit)


class Saved(NamedTuple):
    """Files as they were written, and what the index recorded of them; None if other files have to be read too."""

    files: builtins.list[NoteFile]
    written: Written | None


class MemoryStore:
    """The notes under one root. Any number of threads and processes may use it at once."""

    def __init__(self, root: Path | str, *, only_to_read: bool = False, versions: int = DEFAULT_VERSIONS) -> None:
        """Open the notes under `root`, which is created unless they are `only_to_read`.

        Of each note, at most this many replaced `versions` are kept.
        """
        self.root = Path(root).expanduser().absolute()
        self.memory_dir = self.root / TREES["portable"]
        self.local_dir = self.root / TREES["machine-local"]
        self.db_path = self.root / "index.db"
        self.kept = Kept(self.root, versions)
        self._files = NoteFiles(self.root, self.kept, only_to_read=only_to_read)
        self._index = Index(self.db_path, self._files, self.kept)
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
        self._catalogue.refresh_folders()
        if not only_to_read and os.path.exists(f"{self.root}/{DREAMS}/{PENDING}"):
            self._recover()

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
        for name in ("usage", "decisions"):
            if name in self.__dict__:
                getattr(self, name).close()

    def _recover(self) -> None:
        """Undo a change of several notes that was killed; whoever is at work on one holds the lock."""
        from anamnesis.store import changeset  # hardly ever

        with contextlib.suppress(StoreUnavailable, NoteConflict), self._catalogue.alone(0.0):
            changeset.recover(self)

    @cached_property
    def usage(self) -> Usage:
        """What the notes were used for on this machine."""
        from anamnesis.store.usage import Usage  # no hook needs it

        return Usage(self.root)

    @cached_property
    def decisions(self) -> GateLog:
        """What the gate decided about agents' notes on this machine."""
        from anamnesis.store.gate_log import GateLog  # no hook needs it

        return GateLog(self.root)

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
    ) -> Memory:
        """Create a note: its file, then its index entry."""
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
    ) -> Saved:
        """Store many notes as they are given, in place of their `former` files, of which nothing is kept.

        None stands for a note that is known to have no file.

        For a follower of the log: `on_change` is not called, and these changes are not pending for it. If one of the
        files has changed since it was read, none is written. If `placed` is given, it gets the files once they are in
        place, before they are indexed, and has to have them flushed: until then, a power failure may lose them.
        """
        notes = _checked(memories)
        if not notes:
            return Saved([], None)
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
        """Change some fields of a note and set its `updated_at`; not if it is no longer as `expected`."""
        unknown = sorted(changes.keys() - CHANGEABLE)
        if unknown:
            names = ", ".join(sorted(CHANGEABLE))
            raise InvalidArgument(f"{unknown[0]!r} of a note cannot be changed.", f"These can: {names}.")
        with self._catalogue.alone():
            found, memory = self._catalogue.located(memory_id)
            if expected not in (None, memory):
                raise NoteConflict(f"Somebody else has changed the note {memory_id}.", "Look at it again.")
            new = [name for name, value in changes.items() if value != getattr(memory, name)]
            changed = without_secrets(replace(memory, **changes), new)
            if changed == memory:
                return memory
            changed = replace(changed, updated_at=utcnow())
            validate(changed)
            return readable(*self._save([(changed, found)]).files)

    def move(self, memory_id: str, scope: Scope) -> Memory:
        """Make a note portable, so that it is synced to other machines, or keep it on this one."""
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
        """Bring back the last deleted version of a note, or show one again that Engram has hidden."""
        check_id(memory_id)
        if (note := self.find(memory_id)) and note.is_hidden:
            return self._show(note)
        with self._catalogue.alone():
            trashed = next((item for item in self.trashed() if item.id == memory_id), None)
            if trashed is None and is_purged(self.root, memory_id):
                raise NoteNotFound(f"The note {memory_id} was purged and cannot be brought back.")
            if trashed is None:
                raise NoteNotFound(f"No deleted note has the id {memory_id}.", "`anamnesis restore` lists them.")
            if self._catalogue.find([memory_id]):
                raise NoteConflict(f"A note {memory_id} exists.", "Delete it first, then restore the other.")
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

    def get(self, memory_id: str) -> Memory:
        """Read a note from its file."""
        return self._catalogue.located(memory_id)[1]

    def find(self, memory_id: str) -> Memory | None:
        """Read a note from its file; None if there is none."""
        try:
            return self.get(memory_id)
        except NoteNotFound:
            return None

    def file(self, memory_id: str) -> NoteFile | None:
        """The file that stands for a note; None if there is none that can be read."""
        return self.files([memory_id]).get(memory_id)

    def files(self, ids: Iterable[str], *, renamed: bool = True) -> dict[str, NoteFile]:
        """The files that stand for notes, by id, without unreadable ones. Files that were edited in place are indexed.

        `renamed=False` skips the rescan of the folders for files that have just been renamed.
        """
        return self._catalogue.readable([check_id(memory_id) for memory_id in dict.fromkeys(ids)], renamed=renamed)

    def search(
        self,
        query: str,
        *,
        project: str | None = None,
        type: MemoryType | None = None,
        scope: Scope | None = None,
        k: int = 8,
        mode: Mode = "fused",
    ) -> builtins.list[Memory]:
        """The k notes that best match the query, by words and meaning or as `mode` says, read from their files."""
        return [hit.memory for hit in self.hits(query, project=project, type=type, scope=scope, k=k, mode=mode)]

    def hits(
        self,
        query: str,
        *,
        project: str | None = None,
        type: MemoryType | None = None,
        scope: Scope | None = None,
        k: int = 8,
        mode: Mode = "fused",
        explain: bool = False,
        at_hand: str | None = None,
        **also: Unpack[Also],
    ) -> builtins.list[Hit]:
        """What `search` finds, with scores, and with the reasons for them if they are to `explain`.

        Of notes that match alike, those of the project `at_hand` come first.
        """
        wanted = Filter(project, type, scope, **also)
        near = None if project else at_hand
        return self._hits(Question(query, wanted, at_least_zero("k", k), mode, explain, near))

    def best(self, query: str, *, project: str, k: int, mode: Mode = "fused") -> builtins.list[Ranked]:
        """The hits without their notes: it reads only files that changed since they were indexed."""
        asked = Question(query, Filter(project), at_least_zero("k", k), mode)
        for _ in range(_STALE_ROUNDS):
            ranked = self.ranking.rank(asked)
            changed = [each.path for each in ranked if self._files.seen(each.path) != each.seen]
            if not changed or not self._catalogue.refresh_files({path: self._files.read(path) for path in changed}):
                break
        return ranked

    def related(
        self,
        memory_id: str,
        *,
        project: str | None = None,
        type: MemoryType | None = None,
        scope: Scope | None = None,
        k: int = 5,
        warm: bool = False,
    ) -> builtins.list[Hit]:
        """The k notes that are closest to a note, without weak ones; a score of 1 is as close as the note itself.

        Notes are compared by meaning, or by words where that is not possible; if only a `warm` model may be asked,
        nothing is found without one.
        """
        note = self.get(memory_id)
        wanted = Filter(project, type, scope)
        return self._hits(Question("", wanted, at_least_zero("k", k), like=note.id, warm=warm))

    def embed(self, progress: Callable[[int], None] | None = None) -> int:
        """Embed the notes that changed; returns how many were. `progress` gets the size of each batch after it."""
        return self.ranking.embed(progress)

    def coverage(self, words: builtins.list[str], ids: builtins.list[str]) -> Coverage:
        """Which of the words each of these notes holds, and how many of all notes hold each."""
        return self._catalogue.ask(lambda db: coverage(db, words, ids))

    def suggest(self, query: str) -> Suggestions:
        """What to try where a search found nothing."""
        from anamnesis.store.suggestions import suggest  # that hooks need not import

        return self._catalogue.ask(lambda db: suggest(db, query))

    def list(
        self,
        *,
        project: str | None = None,
        type: MemoryType | None = None,
        scope: Scope | None = None,
        limit: int | None = None,
        offset: int = 0,
        order: str = "updated",
        **also: Unpack[Also],
    ) -> builtins.list[Memory]:
        """Notes, newest first, from the index alone: without foreign front matter, and without reading files.

        Other orders: by the time of creation, by title, by project.
        """
        wanted = Filter(project, type, scope, **also)
        limit = None if limit is None else at_least_zero("limit", limit)
        offset = at_least_zero("offset", offset)
        return self._catalogue.ask(lambda db: queries.list_notes(db, by_any_name(db, wanted), limit, offset, order))

    def count(
        self,
        *,
        project: str | None = None,
        type: MemoryType | None = None,
        scope: Scope | None = None,
        **also: Unpack[Also],
    ) -> int:
        """How many notes there are."""
        wanted = Filter(project, type, scope, **also)
        return self._catalogue.ask(lambda db: queries.count_notes(db, by_any_name(db, wanted)))

    def stats(self) -> StoreStats:
        """How many notes there are, in all, by type, project and scope."""
        return self._catalogue.ask(queries.stats)

    def projects(self) -> builtins.list[str]:
        """The projects of all notes."""
        return self._catalogue.ask(lambda db: [name for names in projects_of(db).values() for name in names])

    def check_project(self, name: str) -> None:
        """Refuse a short name of several projects that is not a project itself: a list or a search of it is empty."""
        self._catalogue.ask(lambda db: check_project(db, name))

    def hashes(self, *, hidden: bool = True) -> dict[str, bytes]:
        """The hash of the file of every note, or of every one that is not hidden."""
        return self._catalogue.ask(lambda db: queries.hashes(db, hidden))

    def hashes_of(self, ids: Iterable[str]) -> dict[str, bytes]:
        """The hashes of the files of these notes."""
        return {id: hash for id, (_, hash) in self._catalogue.ask(lambda db: queries.standing(db, ids)).items()}

    def live(self, ids: Iterable[str]) -> builtins.list[Memory]:
        """Those of the notes that are neither hidden nor superseded, whole and from the index alone."""
        return self._catalogue.ask(lambda db: queries.live_notes(db, ids))

    def whole(self, ids: Iterable[str]) -> builtins.list[Memory]:
        """Those of the notes that are not hidden, superseded ones too, whole and from the index alone."""
        return self._catalogue.ask(lambda db: queries.whole_notes(db, ids))

    def marks(self, ids: Iterable[str]) -> dict[str, Marked]:
        """Those of the notes that are outdated, contradicted or stale."""

        def read(db: Connection) -> dict[str, Marked]:
            if not queries.has_marks(db):
                return {}
            from anamnesis.store.linked import marked  # hooks need not import it

            return marked(db, ids)

        return self._catalogue.ask(read)

    def linking(self, ids: Iterable[str]) -> set[str]:
        """The ids of the notes whose marks name one of these."""
        return self._catalogue.ask(lambda db: queries.linking(db, ids))

    def outdated_ids(self) -> set[str]:
        """The ids of the notes that a newer note outdates; they are found, but not injected."""
        return self._catalogue.ask(queries.outdated_ids)

    def ids_of(self, project: str, names: Sequence[str] | None = None) -> builtins.list[str]:
        """The ids of a project's notes; only of those that hold one of `names`, if given."""
        from anamnesis.store.mentions import ids_of  # that hooks need not import

        return self._catalogue.ask(lambda db: ids_of(db, project, names))

    def superseding(self, ids: Iterable[str]) -> dict[str, str]:
        """Which of these notes are superseded, and by which."""
        return self._catalogue.ask(lambda db: queries.superseding(db, ids))

    def supersessions(self, ids: Iterable[str]) -> dict[str, set[str]]:
        """What is superseded by each note that supersedes one of these, or is superseded by it, directly or not."""
        return self._catalogue.ask(lambda db: queries.supersessions(db, ids))

    def superseded_ids(self) -> set[str]:
        """The ids that some note supersedes; search leaves them out."""
        return self._catalogue.ask(queries.superseded_ids)

    def problems(self) -> builtins.list[Problem]:
        """The files that are not notes, and duplicates, with the reasons."""
        return self._catalogue.ask(queries.problems)

    def tagged(self, tag: str) -> builtins.list[str]:
        """The ids of the notes that have a tag."""
        return self._catalogue.ask(lambda db: queries.tagged(db, tag))

    def unreflected(self, project: str | None = None) -> dict[str, bytes]:
        """The live episodes that were not folded into durable notes, the oldest first: the hashes of their files."""
        return self._catalogue.ask(lambda db: queries.unreflected(db, by_any_name(db, Filter(project, "episodic"))))

    def having(
        self, stems: Sequence[str], *, project: str, scope: Scope | None = None, k: int = 8
    ) -> builtins.list[Memory]:
        """Up to k live durable notes of a project that have words that begin with each of the stems, whole."""
        wanted = Filter(project, scope=scope)
        ids = self._catalogue.ask(lambda db: queries.having(db, stems, by_any_name(db, wanted), k))
        return self.live(ids)

    def ids_from(self, source: str) -> builtins.list[str]:
        """The ids of the notes that have this `prov_source`."""
        return self._catalogue.ask(lambda db: queries.ids_from(db, source))

    def activity(self, since: str) -> dict[str, int]:
        """How many notes were created on each day since a day."""
        return self._catalogue.ask(lambda db: queries.activity(db, since))

    def refresh(self) -> Changes:
        """Compare every file's size and mtime with the index, and index what changed."""
        return self._catalogue.refresh()

    def refresh_files(self, paths: Sequence[str], steps: Sequence[Step] = ()) -> None:
        """Refresh the index for these paths under the root, and for folders that changed otherwise than by `steps`."""
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

    def reindex(self, progress: Progress | None = None) -> int:
        """Rebuild the whole index from the files; how many notes it holds."""
        self._catalogue.rebuild(progress)
        return self.count()

    def _put(self, memories: Iterable[Memory]) -> Saved:
        notes = _checked(memories)
        if not notes:
            return Saved([], None)
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
    ) -> Saved:
        """Write notes' files and index them, each in place of the file that held it so far."""
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
        return Saved(writing.files, written)

    def _hits(self, asked: Question) -> builtins.list[Hit]:
        for _ in range(_STALE_ROUNDS):
            hits, stale = self._read_hits(self.ranking.rank(asked))
            if not stale or not self._catalogue.refresh_files(stale):
                break
        marks = self.marks(hit.memory.id for hit in hits)
        return [hit._replace(marks=marks.get(hit.memory.id, hit.marks)) for hit in hits] if marks else hits

    def _read_hits(self, ranked: builtins.list[Ranked]) -> tuple[builtins.list[Hit], dict[str, NoteFile | None]]:
        """The notes of the hits, and the files that are stale in the index."""
        hits: builtins.list[Hit] = []
        stale: dict[str, NoteFile | None] = {}
        for found in ranked:
            file = self._files.read(found.path)
            if file is None or (file.size, file.mtime_ns) != found.seen:
                stale[found.path] = file
            if file and file.memory and file.memory.id == found.id:
                hits.append(Hit(file.memory, found.score, found.fit, found.why))
        return hits, stale

    def _notify(self, checked: bool, changed: bool, written: Written | None) -> None:
        if checked and self.on_refresh:
            self.on_refresh()
        if changed and self.on_change:
            self.on_change(written)


def _checked(memories: Iterable[Memory]) -> builtins.list[Memory]:
    """Validated notes without secrets; of several with one id, the last."""
    notes = {memory.id: without_secrets(memory) for memory in memories}
    for memory in notes.values():
        validate(memory)
    return [*notes.values()]
