"""A user's machine with notes and memories of other programs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from anamnesis.importers import importer_named
from anamnesis.importers.machine import Machine, this_machine
from anamnesis.importers.pipeline import ImportResult, Survey, run_import, survey
from anamnesis.notes import Memory
from anamnesis.store import MemoryStore

TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


class Here:
    """A machine with one user and their notes."""

    def __init__(self, folder: Path, store: MemoryStore) -> None:
        self.store = store
        self.home = folder / "user"
        self.work = self.home / "work" / "lamp"
        self.work.mkdir(parents=True)
        self.environ: dict[str, str] = {}

    def machine(self, name: str = "desk") -> Machine:
        return this_machine(self.store, name, self.home, self.home / ".claude", folder=self.work, environ=self.environ)

    def write(self, path: str, text: str | bytes, time: int = 1_700_000_000) -> Path:
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
        os.utime(file, (time, time))
        return file

    def found(self, source: str) -> list[Path]:
        return [*importer_named(source).find(self.machine())]

    def run_import(
        self, source: str, place: Path | None = None, *, machine: str = "desk", project: str = "", dry_run: bool = False
    ) -> ImportResult:
        """Import from a place, by default the only one found."""
        if place is None:
            (place,) = self.found(source)
        importer, here = importer_named(source), self.machine(machine)
        return run_import(self.store, importer, place, here, project=project or None, dry_run=dry_run)

    def survey(self, source: str) -> Survey:
        (place,) = self.found(source)
        return survey(self.store, importer_named(source), place, self.machine())

    def notes(self) -> dict[str, Memory]:
        """The notes as read from their files, by title."""
        return {note.title: self.store.get(note.id) for note in self.store.list()}


@pytest.fixture
def here(tmp_path: Path, store: MemoryStore) -> Iterator[Here]:
    yield Here(tmp_path, store)
