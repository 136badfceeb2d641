"""Settles two files of one id: they become one note if they say the same, else two notes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from anamnesis.notes import SCOPES, Memory
from anamnesis.notes.marks import with_marks
from anamnesis.notes.merge import set_aside
from anamnesis.store.files import NoteFile
from anamnesis.store.ids import utcnow
from anamnesis.store.problems import Problem
from anamnesis.store.store import MemoryStore


def says_the_same(one: Memory, other: Memory) -> bool:
    """Whether two versions differ in nothing but their scope, times and marks."""
    return _said(one) == _said(other)


def is_needless(store: MemoryStore, problem: Problem) -> bool:
    """Whether the second file of a note says nothing that its standing file does not say."""
    notes = [each.memory for each in _files(store, problem) if each and each.memory]
    return len(notes) == 2 and says_the_same(*notes)


def settle(
    store: MemoryStore, problem: Problem, is_included: Callable[[Memory, str], bool] = lambda *_: False
) -> Memory | None:
    """Move the second file of a note to the trash; first, give its text an id of its own unless the note has it.

    A note in both trees stays the portable one, which other machines know. `is_included` tells whether the note, whose
    path follows, was made from that version. Returns the new note, tagged as a conflict, if there is one.
    """
    with store._catalogue.alone():
        standing, second = _files(store, problem)
        first, other = standing and standing.memory, second and second.memory
        if not (standing and second and first and other and first.id == other.id):
            return None
        if first.scope == SCOPES[1] and other.scope == SCOPES[0]:
            standing, second, first, other = second, standing, other, first
        is_needless = says_the_same(first, other) or is_included(other, standing.path)
        return _discard(store, second, other, None if is_needless else set_aside(other))


def step_aside(store: MemoryStore, file: NoteFile, aside: Memory | None) -> bool:
    """Make room for another text of a note, whose text here is kept as the note `aside`, if that is given.

    A file that has changed since it was read stays: then this returns False.
    """
    with store._catalogue.alone():
        now = store._files.read(file.path)
        if not now or not now.memory or now.hash != file.hash:
            return False
        _discard(store, now, now.memory, aside)
        return True


def _discard(store: MemoryStore, file: NoteFile, note: Memory, aside: Memory | None) -> Memory | None:
    """Move a file to the trash; first, keep its text as the note `aside`, if that is given."""
    if aside:
        if store.has_shared and (shared := store.shared.of([note.id])):
            store.shared.record([shared[note.id]._replace(note=aside.id)])
        store.put(aside)
    step = store._files.discard(file.path, note, utcnow())
    store._catalogue.save([], [file.path], lambda: [step])
    return aside


def _said(note: Memory) -> Memory:
    return replace(with_marks(note, {}), scope="", updated_at="", newline="")


def _files(store: MemoryStore, problem: Problem) -> tuple[NoteFile | None, NoteFile | None]:
    return store._files.read(problem.owner), store._files.read(problem.path)
