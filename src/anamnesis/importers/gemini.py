"""Gemini CLI: the facts and sections of GEMINI.md, and the memory folders of its projects."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from anamnesis.importers.foreign_files import files_under, first_line, json_in, sections_of, text_in, written_at
from anamnesis.importers.foreign_record import ImportItems, Record, Unreadable
from anamnesis.importers.machine import Machine
from anamnesis.importers.markdown import file_record
from anamnesis.importers.pipeline import Importer
from anamnesis.importers.rules import section_records
from anamnesis.notes.record import GLOBAL

_FILE = "GEMINI.md"
_ADDED = "Gemini Added Memories"
_ITEM = re.compile(r"^[-*] +(\S.*(?:\n(?![-*] ).+)*)", re.MULTILINE)
_HASH = re.compile(r"[0-9a-f]{32,64}")


def _find(machine: Machine) -> list[Path]:
    home = machine.user_home / ".gemini"
    return [home] if (home / _FILE).is_file() or any((home / "tmp").glob("*/memory")) else []


def _read(place: Path, machine: Machine) -> ImportItems:
    path = place if place.is_file() else place / _FILE
    if path.is_file():
        yield from _facts(path, machine)
    names = _names(place) if place.is_dir() else {}
    for folder in sorted((place / "tmp").glob("*/memory")):
        name = names.get(folder.parent.name, "" if _HASH.fullmatch(folder.parent.name) else folder.parent.name)
        project = machine.project_named(name) if name else GLOBAL
        for file in files_under(folder, ".md"):
            key = f"{machine.id}:{file.relative_to(place).as_posix()}"
            yield file_record(file, folder, key=key, project=project)


def _names(home: Path) -> dict[str, str]:
    """Project paths by folder name: a slug from Gemini's projects file, or a hash of the path."""
    found = json_in(home / "projects.json")
    projects = found.get("projects") if isinstance(found, dict) else None
    paths = (
        {path: slug for path, slug in projects.items() if isinstance(slug, str)} if isinstance(projects, dict) else {}
    )
    hashes = {hashlib.sha256(path.encode("utf-8", "replace")).hexdigest(): path for path in paths}
    return {**hashes, **{slug: path for path, slug in paths.items()}}


def _facts(path: Path, machine: Machine) -> ImportItems:
    """A record for each fact that Gemini added, and for each of the other sections."""
    text = text_in(path)
    if isinstance(text, Unreadable):
        yield text
        return
    facts = [
        fact for section in sections_of(text) if section.path[-1:] == (_ADDED,) for fact in _ITEM.findall(section.text)
    ]
    for fact in dict.fromkeys(facts):
        digest = hashlib.sha256(fact.encode("utf-8", "replace")).hexdigest()[:32]
        time = written_at(path)
        # Facts have no ids: a reworded fact is a new one.
        yield Record(f"fact/{digest}", first_line(fact), fact, created_at=time, updated_at=time)
    for record in section_records(path, machine, "procedural"):
        if not isinstance(record, Record) or record.title != _ADDED or not facts:
            yield record


IMPORTER = Importer("gemini", "Gemini CLI's memories", _find, _read)
