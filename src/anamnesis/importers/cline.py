"""Cline's memory bank: the markdown files of a project's `memory-bank` folder, each a record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from anamnesis.importers.foreign_files import files_under
from anamnesis.importers.foreign_record import ImportItems, Unreadable
from anamnesis.importers.machine import Machine
from anamnesis.importers.markdown import file_record
from anamnesis.importers.pipeline import Importer

_FOLDER = "memory-bank"


def _find(machine: Machine) -> Iterator[Path]:
    root = machine.repository(machine.folder) or machine.folder
    for folder in (root / _FOLDER, root / "docs" / _FOLDER):
        if folder.is_dir() and not folder.is_symlink():
            yield folder


def _read(place: Path, machine: Machine) -> ImportItems:
    found = place / _FOLDER if (place / _FOLDER).is_dir() else place
    folder = found.parent if found.is_file() else found
    project = machine.project_of(folder.parent)
    for path in files_under(found, ".md"):
        record = file_record(path, folder, key=machine.project_key(path, project), project=project)
        yield record if isinstance(record, Unreadable) else replace(record, project=project)


IMPORTER = Importer("cline", "Cline's memory bank", _find, _read)
