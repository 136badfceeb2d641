"""Restores a version of a note: it is written as the current one, and the previous one stays in the history."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from anamnesis.disk import write_atomically
from anamnesis.errors import InvalidArgument
from anamnesis.history.diffs import diff, text_of
from anamnesis.history.version import Revision
from anamnesis.notes import Memory
from anamnesis.notes.record import TICKING, without_ticking
from anamnesis.notes.spaces import space_of, with_space
from anamnesis.store import CHANGEABLE, MemoryStore
from anamnesis.store.files import TREES, telling, trash_place
from anamnesis.store.ids import changed_at, utcnow

_KEPT = ("scope", "created_at")


@dataclass(frozen=True, slots=True)
class RestoredNote:
    """A restored note, the diff, which is empty if nothing changed, and a sentence about what was not restored."""

    note: Memory
    diff: str
    kept: str


def _pick(revisions: Sequence[Revision], number: int) -> Memory:
    """The note in a revision, if it can be restored."""
    if not 1 <= number <= len(revisions):
        raise InvalidArgument(f"There is no revision {number}.", f"There are 1 to {len(revisions)}.")
    version = revisions[number - 1].version.note
    if version is None:
        raise InvalidArgument(f"In revision {number} the note was deleted.", "Choose a revision that has text.")
    return version


def restore(store: MemoryStore, revisions: Sequence[Revision], number: int) -> RestoredNote:
    """Restore a note to a revision; fields that the revision lacks stay. A note that no longer exists is written again.

    Who sees the note is not restored: what was made machine-local, or moved out of a space, must not be shared again
    because it once was. The current text is copied to the trash, unless git has it.
    """
    picked = _pick(revisions, number)
    present = store.find(picked.id)
    last = present or next(note for each in reversed(revisions) if (note := each.version.note))
    version = replace(with_space(picked, space_of(last)), scope=last.scope)
    kept = _kept(picked, last)
    if present is None:
        note = store.put(replace(version, engram=without_ticking(version.engram), updated_at=changed_at(version)))
        return RestoredNote(note, diff("", text_of(note)), kept)
    before = "" if present.is_hidden else text_of(present)
    if text_of(version) == before:
        return RestoredNote(present, "", kept)
    if before and (revisions[-1].version.source != "git" or revisions[-1].version.text != before):
        _keep(store, present)
    note = store.update(version.id, expected=present, **_changes(version, present))
    return RestoredNote(note, diff(before, text_of(note)), kept)


def _kept(version: Memory, last: Memory) -> str:
    """What a restore leaves as it was last: whether the note is synced, and the space that it names."""
    sentences = []
    if last.scope != version.scope:
        is_local = last.scope == "machine-local"
        sentences.append("It stays on this machine only." if is_local else "It is synced to other machines, as before.")
    if space_of(last) != space_of(version):
        space = space_of(last)
        named = f"in the space {space}" if space else f"out of the space {space_of(version)}"
        sentences.append(f"It stays {named}.")
    return " ".join(sentences)


def _keep(store: MemoryStore, note: Memory) -> None:
    """Copy a note's file to the trash, with its time."""
    file = store.file(note.id)
    if file:
        with telling("keep in the trash", store.root / file.path):
            target = trash_place(store.root, TREES[note.scope], note, utcnow())
            write_atomically(target, (store.root / file.path).read_bytes())
            os.utime(target, ns=(file.mtime_ns, file.mtime_ns))


def _changes(version: Memory, present: Memory) -> dict[str, Any]:
    kept = {name: value for name, value in present.engram.items() if name in TICKING and name != "deleted_at"}
    changes = {name: getattr(version, name) for name in CHANGEABLE if name not in _KEPT}
    return {**changes, "engram": {**without_ticking(version.engram), **kept}}
