"""Claude Code's own memory: each file is one record of the project that its folder is named after."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from anamnesis.importers.foreign_files import parts_of, text_in, written_at
from anamnesis.importers.foreign_record import ImportItems, Record, Unreadable
from anamnesis.importers.machine import Machine, this_machine
from anamnesis.importers.pipeline import Importer, ImportResult, run_import
from anamnesis.notes.foreign import CLAUDE_CODE
from anamnesis.store import MemoryStore

_INDEX = "MEMORY.md"
# Feedback is about how to work: procedural. Everything else is about the user, the project or the world: semantic.
_TYPES = {"feedback": "procedural"}
_TRANSCRIPT_LINES = 50


def import_claude(store: MemoryStore, claude_home: Path, machine_id: str, user_home: Path) -> ImportResult:
    """Import every memory file under Claude Code's folder."""
    return run_import(store, IMPORTER, claude_home, this_machine(store, machine_id, user_home, claude_home))


def _find(machine: Machine) -> list[Path]:
    folder = machine.claude_home
    return [folder] if any((folder / "projects").glob("*/memory")) else []


def _read(claude_home: Path, machine: Machine) -> ImportItems:
    for folder in sorted((claude_home / "projects").glob("*/memory")):
        if folder.is_symlink() or not folder.is_dir():
            continue
        project = ""
        for path in _files(folder):
            project = project or _project(folder.parent, machine)
            # The key has machine and path, so two machines never write the same note.
            yield _record(path, f"{machine.id}:{path.relative_to(claude_home).as_posix()}", project)


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*.md")):
        if path.name != _INDEX and path.is_file() and not path.is_symlink():
            yield path


def _record(path: Path, key: str, project: str) -> Record | Unreadable:
    text = text_in(path)
    if isinstance(text, Unreadable):
        return text
    meta, body = parts_of(text)
    inner = meta.get("metadata")
    nested: dict[str, Any] = inner if isinstance(inner, dict) else {}
    kind = str(nested.get("type") or meta.get("type") or "")
    # A description tells what the note is about; a name often only repeats the file name.
    title = str(meta.get("description") or meta.get("name") or path.stem.replace("_", " ").replace("-", " "))
    return Record(
        key=key,
        title=title if title.strip() else path.stem,
        body=body,
        type=_TYPES.get(kind, "semantic"),
        project=project,
        created_at=written_at(path),
        tags=[CLAUDE_CODE],
        session=str(nested.get("originSessionId") or ""),
    )


def _project(folder: Path, machine: Machine) -> str:
    """The project of a folder under projects/, whose name is a path with dashes for everything but letters."""
    cwd = _cwd_of_transcripts(folder) or _path_of(folder.name.lstrip("-"), Path("/"))
    return machine.project_of(cwd) if cwd else folder.name.strip("-").rpartition("-")[2].lower() or "global"


def _cwd_of_transcripts(folder: Path) -> Path | None:
    for transcript in sorted(folder.glob("*.jsonl")):
        with contextlib.suppress(OSError), transcript.open("rb") as lines:
            for _, line in zip(range(_TRANSCRIPT_LINES), lines, strict=False):
                match = re.search(rb'"cwd":\s*("(?:[^"\\]|\\.)*")', line)
                with contextlib.suppress(ValueError):
                    if match and "\0" not in (cwd := json.loads(match.group(1))):
                        return Path(cwd)
    return None


def _path_of(slug: str, folder: Path) -> Path | None:
    """The existing folder whose path matches the slug."""
    try:
        inside = sorted(path for path in folder.iterdir() if path.is_dir())
    except OSError:
        return None
    for path in inside:
        name = re.sub(r"[^A-Za-z0-9]", "-", path.name).lstrip("-") or path.name
        if slug == name:
            return path
        if slug.startswith(f"{name}-") and (found := _path_of(slug[len(name) :].lstrip("-"), path)):
            return found
    return None


IMPORTER = Importer("claude", "Claude Code's own memory", _find, _read, is_own=True)
