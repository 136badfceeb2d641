"""basic-memory: markdown files with permalinks, in the folders of its projects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from anamnesis.importers.foreign_files import as_text, files_under, json_in
from anamnesis.importers.foreign_record import ImportItems, Unreadable
from anamnesis.importers.machine import Machine
from anamnesis.importers.markdown import file_record
from anamnesis.importers.pipeline import Importer
from anamnesis.notes.record import GLOBAL

# An observation is `- [category] text`, unlike a checkbox.
_CATEGORY = re.compile(r"^[ \t]*[-*+] \[([A-Za-z][\w -]*)\] ", re.MULTILINE)
_HOWTO_CATEGORIES = {"howto", "how-to", "procedure", "method", "workflow", "steps", "guide", "technique"}
_DEFAULT = "main"


def _projects(machine: Machine) -> dict[str, Path]:
    """Its projects, by name: from its configuration, else its default folder."""
    config = json_in(machine.place("BASIC_MEMORY_CONFIG_DIR", ".basic-memory") / "config.json")
    given = config.get("projects") if isinstance(config, dict) else None
    named = {
        name: as_text(each.get("path") if isinstance(each, dict) else each)
        for name, each in (given.items() if isinstance(given, dict) else ())
    }
    found = {name: _expanded(path, machine) for name, path in named.items() if path}
    return found or {_DEFAULT: machine.place("BASIC_MEMORY_HOME", "basic-memory")}


def _expanded(path: str, machine: Machine) -> Path:
    return machine.user_home / path[2:] if path.startswith("~/") else Path(path)


def _find(machine: Machine) -> Iterator[Path]:
    for path in dict.fromkeys(_projects(machine).values()):
        if path.is_absolute() and path.is_dir():
            yield path


def _read(place: Path, machine: Machine) -> ImportItems:
    names = {path.absolute(): name for name, path in _projects(machine).items()}
    name = names.get(place.absolute(), place.name)
    project = GLOBAL if name == _DEFAULT else machine.project_named(name)
    for path in files_under(place, ".md"):
        record = file_record(path, place, key=machine.local_key(path), project=project)
        if isinstance(record, Unreadable):
            yield record
            continue
        permalink = as_text(record.fields.get("permalink")).strip()
        kinds = {found.lower() for found in _CATEGORY.findall(record.body)}
        yield replace(
            record,
            # A permalink is the same on every machine that has this project.
            key=f"{name}/{permalink}" if permalink else record.key,
            type="procedural" if kinds & _HOWTO_CATEGORIES else record.type,
        )


IMPORTER = Importer("basic-memory", "basic-memory's notes", _find, _read)
