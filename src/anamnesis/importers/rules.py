"""Rules for agents (AGENTS.md, CLAUDE.md): each section is a record of the project that the file belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from anamnesis.importers.foreign_files import first_line, parts_of, sections_of, text_in, written_at
from anamnesis.importers.foreign_record import ImportItems, Record, Unreadable
from anamnesis.importers.machine import Machine
from anamnesis.importers.pipeline import Importer
from anamnesis.notes.record import GLOBAL

NAMES = ("AGENTS.md", "CLAUDE.md", "AGENT.md", "CLAUDE.local.md")
_IN_PROJECT = (*((name,) for name in NAMES), (".claude", "CLAUDE.md"), (".github", "copilot-instructions.md"))
_OF_USER = (
    (".codex", "AGENTS.md"),
    (".config", "opencode", "AGENTS.md"),
    (".codeium", "windsurf", "memories", "global_rules.md"),
)
# The block of `anamnesis init` explains how to use this memory; it is not imported.
_BEGIN, _END = "<!-- anamnesis: begin -->", "<!-- anamnesis: end -->"


def _find(machine: Machine) -> Iterator[Path]:
    found = [machine.claude_home / "CLAUDE.md", *(machine.user_home.joinpath(*parts) for parts in _OF_USER)]
    root = machine.repository(machine.folder) or machine.folder
    if root != machine.user_home:
        found += [root.joinpath(*parts) for parts in _IN_PROJECT]
    for path in found:
        if path.is_file() and not path.is_symlink():
            yield path


def _read(place: Path, machine: Machine) -> ImportItems:
    paths = [place] if place.is_file() else [place.joinpath(*parts) for parts in _IN_PROJECT]
    for path in paths:
        if path.is_file():
            yield from section_records(path, machine, "procedural")


def section_records(path: Path, machine: Machine, type: str, project: str = "") -> ImportItems:
    """The sections of a file as records."""
    text = text_in(path)
    if isinstance(text, Unreadable):
        yield text
        return
    meta, body = parts_of(text)
    project = project or project_of(path, machine)
    where = machine.project_key(path, project)
    time = written_at(path)
    before, _, managed = body.partition(_BEGIN)
    for section in sections_of(f"{before}{managed.partition(_END)[2]}"):
        yield Record(
            key=f"{where}#{'/'.join(section.path)}",
            title=section.path[-1] if section.path else first_line(section.text) or path.name,
            body=section.text,
            type=type,
            project=project,
            created_at=time,
            updated_at=time,
            fields={"file": path.name, "section": list(section.path[:-1]), **meta},
        )


def project_of(path: Path, machine: Machine) -> str:
    """The project of a file in a repository. A file in a hidden folder of the user's home is global."""
    if machine.repository(path.parent) in (None, machine.user_home) and path.is_relative_to(machine.user_home):
        parts = path.relative_to(machine.user_home).parts
        if len(parts) == 1 or parts[0].startswith("."):
            return GLOBAL
    if path.parent == machine.claude_home:
        return GLOBAL
    folder = path.parent.parent if path.parent.name.startswith(".") else path.parent
    return machine.project_of(folder)


IMPORTER = Importer("rules", "The sections of AGENTS.md and CLAUDE.md", _find, _read)
