"""Lists the notes that a sync received and sent, for its output."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from anamnesis.git import GitFailed
from anamnesis.notes.merge import conflict_of
from anamnesis.store import MemoryStore
from anamnesis.store.files import is_type_folder
from anamnesis.sync.backend import SyncResult
from anamnesis.sync.integrate import File
from anamnesis.sync.repository import Repository
from anamnesis.sync.tree import Difference

# `back`: a note that was deleted here, and that another machine changed or restored.
KINDS = ("back", "new", "changed", "deleted")
CONFLICT = "conflict"  # the other version of a note, which counts as new
_MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class Travelled:
    """The notes and other files of one direction: their number by kind, and the first of them with kind and title."""

    counts: Mapping[str, int]
    named: Sequence[tuple[str, str]]
    only_notes: bool

    @property
    def total(self) -> int:
        return sum(self.counts.values())


_NONE = Travelled({}, (), True)


def received(store: MemoryStore, result: SyncResult) -> Travelled:
    """What a sync changed here."""
    deleted = {each.id for each in store.trashed()} if result.received else set()
    return _named(Repository(store.memory_dir, ""), result.received, deleted)


def sent(store: MemoryStore, result: SyncResult) -> Travelled:
    """What a sync changed at the remote."""
    repository = Repository(store.memory_dir, "")
    try:
        return _named(repository, repository.differences(*result.sent), ()) if result.sent else _NONE
    except GitFailed:  # only for display
        return _NONE


def _named(repository: Repository, changes: Iterable[Difference], deleted: Collection[str]) -> Travelled:
    moved: dict[str, Difference] = {}  # by name: a note whose type changed has another path
    for each in changes:
        if each.is_file:
            name = PurePosixPath(each.path).name if _is_note(each.path) else each.path
            other = moved.get(name, each)
            path = each.path if each.after else other.path
            after = each.after if each.path == other.path else each.after or other.after
            moved[name] = Difference(path, other.before or each.before, after)
    kinds = {each.path: _kind(each, deleted) for each in moved.values()}
    chosen = sorted(moved.values(), key=lambda each: (KINDS.index(kinds[each.path]), each.path))[:_MOST_NAMED]
    contents = repository.contents(each.after or each.before for each in chosen)
    named = []
    for each in chosen:
        blob = each.after or each.before
        note = File(each.path, contents[blob.id]).memory if blob and _is_note(each.path) else None
        kind = CONFLICT if note and conflict_of(note) else kinds[each.path]
        named.append((kind, note.title if note else each.path))
    return Travelled(Counter(kinds.values()), named, all(map(_is_note, kinds)))


def _is_note(path: str) -> bool:
    return is_type_folder(path.partition("/")[0]) and path.endswith(".md")


def _kind(change: Difference, deleted: Collection[str]) -> str:
    if change.before is None:
        return "back" if PurePosixPath(change.path).stem in deleted else "new"
    return "changed" if change.after else "deleted"
