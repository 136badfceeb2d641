"""Compares the two versions of a conflict: the lines that differ, and the machines that wrote them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from anamnesis.history.commits import committed, digest_of
from anamnesis.history.diffs import differing, text_of
from anamnesis.history.version import Version
from anamnesis.notes import Memory
from anamnesis.notes.foreign import Origin
from anamnesis.notes.merge import without_conflict_tag
from anamnesis.store import MemoryStore
from anamnesis.sync.conflicts import Conflict


@dataclass(frozen=True, slots=True)
class ConflictComparison:
    """Who wrote both versions, the lines that differ (`-` this one's, `+` the other's), and the versions' origins.

    A user of the hub, or the machine whose sync committed the version first; "" if unknown.
    """

    this: str
    other: str
    diff: str
    origins: tuple[Origin, ...] = ()

    @property
    def origin(self) -> Origin | None:
        """The origin of both versions together: that of an unaccepted one, if there is one."""
        return max(self.origins, key=lambda each: each.is_unreviewed, default=None)


def compare(store: MemoryStore, conflict: Conflict) -> ConflictComparison:
    """Compare the versions of a conflict."""
    versions = committed(store.memory_dir, conflict.id)
    writers = store.shared.writers(conflict.id) if store.has_shared else {}
    this, other = conflict.note, without_conflict_tag(conflict.other)
    origins = store.origins(each for each in (this, conflict.other) if each)
    return ConflictComparison(
        _writer(versions, writers, this),
        _writer(versions, writers, other),
        differing(text_of(this), text_of(other)),
        (*origins.values(),),
    )


def _writer(versions: Iterable[Version], writers: Mapping[str, str], note: Memory | None) -> str:
    """The user of the hub who wrote a version, or the machine whose sync first committed it; later commits of the same
    text are merges."""
    if note and (writer := writers.get(digest_of(note))):
        return writer
    return next((each.by for each in versions if each.note and note and _state(each.note) == _state(note)), "")


def _state(note: Memory) -> tuple[str, str, str]:
    return note.updated_at, note.title, note.body
