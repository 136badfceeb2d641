"""Cursor's rules: each `.mdc` file under `.cursor/rules` is a record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from anamnesis.importers.foreign_files import as_text, files_under
from anamnesis.importers.foreign_record import ImportItems, Unreadable
from anamnesis.importers.machine import Machine
from anamnesis.importers.markdown import file_record
from anamnesis.importers.pipeline import Importer
from anamnesis.importers.rules import project_of

_RULES = (".cursor", "rules")
_OLD = ".cursorrules"


def _find(machine: Machine) -> Iterator[Path]:
    root = machine.repository(machine.folder) or machine.folder
    for place in dict.fromkeys([root, machine.user_home]):
        if place.joinpath(*_RULES).is_dir() or (place / _OLD).is_file():
            yield place


def _read(place: Path, machine: Machine) -> ImportItems:
    rules = place.joinpath(*_RULES) if place.joinpath(*_RULES).is_dir() else place
    files = [place] if place.is_file() else [*files_under(rules, ".mdc")]
    if (place / _OLD).is_file():
        files.append(place / _OLD)
    root = _root(place)
    project = project_of(root / _OLD, machine)
    for path in files:
        record = file_record(path, root, key=machine.project_key(path, project), project=project)
        if isinstance(record, Unreadable):
            yield record
        else:
            title = as_text(record.fields.get("description")) or record.title
            yield replace(record, title=title, type="procedural", project=project)


def _root(place: Path) -> Path:
    """The folder of the project that a file or a folder of rules is in."""
    hidden = next((each for each in (place, *place.parents) if each.name == _RULES[0]), None)
    if hidden:
        return hidden.parent
    return place.parent if place.is_file() else place


IMPORTER = Importer("cursor", "Cursor's rules", _find, _read)
