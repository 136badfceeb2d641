"""Reads the files of notes for an exchange, with the bytes that are sent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from anamnesis.notes import Memory, decode, render
from anamnesis.store import MemoryStore
from anamnesis.store.files import TREES, NoteFile, digest
from anamnesis.store.problems import unreadable
from anamnesis.store.purging import is_about
from anamnesis.sync.worktree import read_bytes

_TREE = f"{TREES['portable']}/"
# Attempts to read a file that changes while it is read.
_MOST_READS = 5


class Local(NamedTuple):
    """The file of a note, and its content."""

    file: NoteFile
    data: bytes

    @property
    def memory(self) -> Memory | None:
        return self.file.memory

    @property
    def is_portable(self) -> bool:
        return self.file.path.startswith(_TREE)

    @property
    def path(self) -> str:
        """The path in the tree of portable notes."""
        return self.file.path.removeprefix(_TREE)

    @property
    def text(self) -> str:
        """The text that is sent: the file's, with front matter added if it has none."""
        return render(self.file.memory) if self.file.is_bare and self.file.memory else decode(self.data)


def read_local(store: MemoryStore, ids: Iterable[str]) -> dict[str, Local]:
    """Read the current files of notes, also those that cannot be parsed."""
    found = store._catalogue.find([*dict.fromkeys(ids)])
    read = {note_id: _read(store, note_id, file) for note_id, file in found.items()}
    return {note_id: local for note_id, local in read.items() if local}


def _read(store: MemoryStore, note_id: str, file: NoteFile | None) -> Local | None:
    for _ in range(_MOST_READS):
        if file is None or (file.memory and file.memory.id != note_id):
            return None
        if file.memory is None:
            return Local(file, b"")
        data = read_bytes(store.root / file.path)
        if data is not None and digest(data) == file.hash:
            return Local(file, data)
        file = store._files.read(file.path)
    return Local(file._replace(memory=None, problem="It keeps changing while it is read."), b"") if file else None


def unreadable_ids(store: MemoryStore, ids: Iterable[str]) -> set[str]:
    """The notes that still have a file which cannot be parsed: such a file is not a deletion."""
    problems = store._catalogue.ask(unreadable)
    return {note_id for note_id in ids for problem in problems if is_about(store, problem.path, note_id)}


def is_taken(store: MemoryStore, path: str) -> bool:
    """Whether a file exists at a path of the home."""
    return store._files.exists(path)
