"""MemoryStore: notes in files, and an index over them. The file is written first; the index follows."""

from __future__ import annotations

import builtins
import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from anamnesis.disk import locked
from anamnesis.errors import InvalidArgument, NoteConflict, NoteNotFound, StoreUnavailable
from anamnesis.notes import SCOPES, TYPES, Memory, MemoryType, Scope, check_id, validate
from anamnesis.store import queries
from anamnesis.store.files import TREES, NoteFile, NoteFiles, Step, Trashed, proper_path
from anamnesis.store.ids import UlidMaker, utcnow
from anamnesis.store.index import Connection, Index
from anamnesis.store.placing import place, readable, with_foreign_lines, without_secrets
from anamnesis.store.queries import Filter, Problem, StoreStats, at_least_zero
from anamnesis.store.refresh import Changes, Progress
from anamnesis.store.rows import advance_folder, enter_files, forget_file, has_unread, save_file
from anamnesis.store.search import Ranked, search, word_weights

# How long a reader trusts that no other program has changed a folder: looking costs some 20 µs.
_TRUST_SECONDS = 1.0
# A search asks again after it has mended what it found out of date, but does not chase a file for ever.
_MENDING_ROUNDS = 4
# Entering files one by one is quicker than listing all of them up to about here.
_MANY_FILES = 1_000
CHANGEABLE = frozenset(field.name for field in fields(Memory)) - {"id", "updated_at"}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Hit:
    """A note that a search found, with its score: higher is better."""

    memory: Memory
    score: float


class MemoryStore:
    """The notes under one root. Any number of threads and processes may use it at once."""

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root).expanduser().absolute()
        self.memory_dir = self.root / TREES["portable"]
        self.local_dir = self.root / TREES["machine-local"]
        self.db_path = self.root / "index.db"
        self._files = NoteFiles(self.root)
        self._index = Index(self.db_path, self._files)
        self._checked = float("-inf")
        self._behind = False  # whether a change of ours is not in the index yet
        self._ids = UlidMaker()
        self._look()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._index.close()

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
        return self._save(memory, None)

    def put(self, memory: Memory) -> Memory:
        """Store a note under its own id and times, in place of the one that has this id."""
        memory = without_secrets(memory)
        validate(memory)
        with self._alone():
            found = self._find(memory.id)
            return self._save(with_foreign_lines(memory, found), found)

    def put_all(self, memories: Iterable[Memory]) -> int:
        """Store many notes, each as `put` does, durable together at the end; of one id, the last."""
        notes: dict[str, Memory] = {}
        moved = []
        with self._alone():
            self._behind = True
            for memory in {memory.id: memory for memory in memories}.values():
                memory = without_secrets(memory)
                validate(memory)
                found = self._file_of(memory.id)
                memory = with_foreign_lines(memory, found)
                path = place(memory, found, lambda other: other in notes or self._files.exists(other))
                notes[path] = memory
                if found and found.path != path:
                    moved.append(found.path)
            written = self._files.write_all(notes)
            for path in moved:
                self._files.remove(path)
            self._enter([], written, moved)
        return len(notes)

    def update(self, memory_id: str, *, expected: Memory | None = None, **changes: Any) -> Memory:
        """Change some fields of a note and set its `updated_at`; not if it is no longer as `expected`."""
        unknown = sorted(changes.keys() - CHANGEABLE)
        if unknown:
            names = ", ".join(sorted(CHANGEABLE))
            raise InvalidArgument(f"{unknown[0]!r} of a note cannot be changed.", f"These can: {names}.")
        with self._alone():
            found, memory = self._located(memory_id)
            if expected not in (None, memory):
                raise NoteConflict(f"Somebody else has changed the note {memory_id}.", "Look at it again.")
            new = [name for name, value in changes.items() if value != getattr(memory, name)]
            changed = without_secrets(replace(memory, **changes), new)
            if changed == memory:
                return memory
            changed = replace(changed, updated_at=utcnow())
            validate(changed)
            return self._save(changed, found)

    def move(self, memory_id: str, scope: Scope) -> Memory:
        """Let a note travel to the other machines, or keep it on this one."""
        return self.update(memory_id, scope=scope)

    def delete(self, memory_id: str) -> Memory:
        """Move a note's file to the trash, from where `restore` brings it back."""
        with self._alone():
            found, memory = self._located(memory_id)
            step = self._files.discard(found.path, memory, utcnow())
            self._enter([step], [], [found.path])
        return memory

    def restore(self, memory_id: str) -> Memory:
        """Bring back the last deleted version of a note."""
        check_id(memory_id)
        with self._alone():
            trashed = next((item for item in self.trashed() if item.id == memory_id), None)
            if trashed is None:
                raise NoteNotFound(f"No deleted note has the id {memory_id}.", "`anamnesis restore` lists them.")
            if self._find(memory_id):
                raise NoteConflict(f"A note {memory_id} exists.", "Delete it first, then restore the other.")
            step = self._files.restore(trashed)
            file = self._files.read(trashed.home)
            self._enter([step], [file] if file else [], [])
        return self.get(memory_id)

    def trashed(self) -> builtins.list[Trashed]:
        """The deleted notes, the last one first."""
        return self._files.trashed()

    def get(self, memory_id: str) -> Memory:
        """Read a note from its file."""
        check_id(memory_id)
        return self._located(memory_id)[1]

    def find(self, memory_id: str) -> Memory | None:
        """Read a note from its file; None if there is none."""
        try:
            return self.get(memory_id)
        except NoteNotFound:
            return None

    def search(
        self,
        query: str,
        *,
        project: str | None = None,
        type: MemoryType | None = None,
        scope: Scope | None = None,
        k: int = 8,
    ) -> builtins.list[Memory]:
        """The k notes that best match any words of the query, read from their files."""
        return [hit.memory for hit in self.hits(query, project=project, type=type, scope=scope, k=k)]

    def hits(
        self,
        query: str,
        *,
        project: str | None = None,
        type: MemoryType | None = None,
        scope: Scope | None = None,
        k: int = 8,
    ) -> builtins.list[Hit]:
        """What `search` finds, with scores."""
        wanted = Filter(project, type, scope)
        k = at_least_zero("k", k)
        for _ in range(_MENDING_ROUNDS):
            ranked = self._ask(lambda db: search(db, query, wanted, k))
            hits, stale = self._read_hits(ranked)
            if not stale or not self._mend(stale):
                break
        return hits

    def word_weights(self, text: str) -> dict[str, float]:
        """How telling each word of a text is among the notes: a rare word weighs more than a common one."""
        return self._ask(lambda db: word_weights(db, text))

    def list(
        self,
        *,
        project: str | None = None,
        type: MemoryType | None = None,
        scope: Scope | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> builtins.list[Memory]:
        """Notes, newest first, as the index knows them: without foreign front matter, and no file is read."""
        wanted = Filter(project, type, scope)
        limit = None if limit is None else at_least_zero("limit", limit)
        offset = at_least_zero("offset", offset)
        return self._ask(lambda db: queries.list_notes(db, wanted, limit, offset))

    def count(self, *, project: str | None = None, type: MemoryType | None = None, scope: Scope | None = None) -> int:
        """How many notes there are."""
        wanted = Filter(project, type, scope)
        return self._ask(lambda db: queries.count_notes(db, wanted))

    def stats(self) -> StoreStats:
        """How many notes there are, in all, by type, project and scope."""
        return self._ask(queries.stats)

    def superseded_ids(self) -> set[str]:
        """The ids that some note supersedes; search leaves them out."""
        return self._ask(queries.superseded_ids)

    def problems(self) -> builtins.list[Problem]:
        """The files that are no notes, with the reason."""
        return self._ask(queries.problems)

    def ids_starting(self, prefix: str, limit: int = 10) -> builtins.list[str]:
        """Ids that start with `prefix`, in either case."""
        return self._ask(lambda db: queries.ids_starting(db, prefix, limit))

    def tagged(self, tag: str) -> builtins.list[str]:
        """The ids of the notes that have a tag."""
        return self._ask(lambda db: queries.tagged(db, tag))

    def activity(self, since: str) -> dict[str, int]:
        """How many notes were made on each day since a day."""
        return self._ask(lambda db: queries.activity(db, since))

    def refresh(self) -> Changes:
        """Look at every file's size and time, and enter what changed."""
        return Changes.of(self._index.refresh())

    def receive(self, paths: Sequence[str]) -> None:
        """Enter files that another program has just changed, given by their paths under the root."""
        if len(paths) > _MANY_FILES:
            self._index.refresh()
            return
        read = {path: self._files.read(path) for path in paths if path.endswith(".md")}
        self._mend(read, patient=True)
        self._behind = True
        self._look()

    def reindex(self, progress: Progress | None = None) -> int:
        """Rebuild the whole index from the files; how many notes it holds."""
        self._index.rebuild(progress)
        return self.count()

    def _ask(self, query: Callable[[Connection], T]) -> T:
        self._look()
        return self._index.read(query)

    def _look(self) -> None:
        """Enter what other programs did to the folders, unless a look was just taken or the index is busy."""
        now = time.monotonic()
        if self._behind or now - self._checked > _TRUST_SECONDS:
            self._behind = False
            try:
                self._index.catch_up()
                self._checked = now
            except StoreUnavailable:
                self._behind = True

    def _save(self, memory: Memory, found: NoteFile | None) -> Memory:
        """Write a note's file and enter it, in place of the file `found` that held it so far."""
        path = place(memory, found, self._files.exists)
        gone = [found.path] if found and found.path != path else []
        written, step = self._files.write(path, memory)
        steps = [step, *(self._files.remove(old) for old in gone)]
        self._enter(steps, [written], gone)
        return memory

    def _enter(self, steps: Sequence[Step | None], written: builtins.list[NoteFile], gone: builtins.list[str]) -> None:
        """Enter our changes of files; if the index cannot take them now, whoever looks next finds them."""

        def change(db: Connection) -> bool:
            for file in written:
                save_file(db, file, self._files.exists)
            for path in gone:
                forget_file(db, path)
            for step in steps:
                if step:
                    advance_folder(db, step)
            return has_unread(db)

        try:
            unsettled = self._index.write(change)
        except StoreUnavailable:
            self._behind = True
            for folder in {path.rpartition("/")[0] for path in (*(file.path for file in written), *gone)}:
                self._files.touch_folder(folder)
        else:
            if unsettled:
                self._index.settle()

    def _located(self, memory_id: str) -> tuple[NoteFile, Memory]:
        check_id(memory_id)
        found = self._find(memory_id)
        if found is None:
            raise NoteNotFound(f"No note has the id {memory_id}.", "`anamnesis list` shows the ids.")
        return found, readable(found)

    def _find(self, memory_id: str) -> NoteFile | None:
        """The file that holds a note, also if it has just been renamed."""
        found = self._file_of(memory_id)
        if found is None:
            self._behind = True
            found = self._file_of(memory_id)
        return found

    def _file_of(self, memory_id: str) -> NoteFile | None:
        """The file that holds a note: where the index says, or else where it belongs."""
        known = None
        with contextlib.suppress(StoreUnavailable):
            known = self._ask(lambda db: queries.path_of(db, memory_id))
        proper = [proper_path(scope, kind, memory_id) for scope in SCOPES for kind in TYPES]
        for path in [known, *proper] if known else proper:
            file = self._files.read(path)
            if file and (file.memory is None or file.memory.id == memory_id):
                return file
        return None

    def _read_hits(self, ranked: builtins.list[Ranked]) -> tuple[builtins.list[Hit], dict[str, NoteFile | None]]:
        """The notes of the hits, and those files that are not as the index has them."""
        hits: builtins.list[Hit] = []
        stale: dict[str, NoteFile | None] = {}
        for found in ranked:
            file = self._files.read(found.path)
            if file is None or (file.size, file.mtime_ns) != found.seen:
                stale[found.path] = file
            if file and file.memory and file.memory.id == found.id:
                hits.append(Hit(file.memory, found.score))
        return hits, stale

    def _mend(self, stale: dict[str, NoteFile | None], *, patient: bool = False) -> bool:
        """Enter files that were edited or removed in place; if not `patient`, not if somebody is writing now."""
        try:
            self._index.write(partial(enter_files, read=stale, exists=self._files.exists), patient=patient)
        except StoreUnavailable:
            return False
        self._index.settle()
        return True

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """One reader-then-writer of a note at a time, among threads and processes."""
        with locked(self.root / "store.lock"):
            yield
