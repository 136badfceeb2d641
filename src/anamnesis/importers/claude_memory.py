"""Imports Claude Code's own memory: each file becomes one note, which is updated when the file changes.

The files are only read. A note that the user deleted stays deleted, and one that the user edited is not changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from anamnesis.disk import write_atomically
from anamnesis.notes import Memory, derived_id, ending_of
from anamnesis.notes.foreign import CLAUDE_CODE
from anamnesis.notes.redaction import redact
from anamnesis.project import find_project
from anamnesis.store import MemoryStore
from anamnesis.store.ids import id_of_record, utcnow
from anamnesis.store.tombstones import is_purged

_INDEX = "MEMORY.md"
_LEDGER = "imported.json"
# Feedback is about how to work: procedural. Everything else is about the user, the project or the world: semantic.
_TYPES = {"feedback": "procedural"}
_TRANSCRIPT_LINES = 50
_DEEPEST = 50


@dataclass(frozen=True, slots=True)
class Imported:
    """The counts of an import."""

    new: int = 0
    updated: int = 0
    unchanged: int = 0
    left: int = 0  # deleted or edited by the user


@dataclass(frozen=True, slots=True)
class _Source:
    path: Path
    project: str
    title: str
    body: str
    type: str
    session: str
    written_at: str


def import_claude(store: MemoryStore, claude_home: Path, machine_id: str, user_home: Path) -> Imported:
    """Import every memory file under Claude Code's folder."""
    ledger = _read_ledger(store.root)
    imported = {ending_of(note_id): note_id for note_id in ledger}
    counts = {"new": 0, "updated": 0, "unchanged": 0, "left": 0}
    changed = []
    for source in _sources(claude_home, lambda folder: find_project(folder, store.root, user_home).key):
        # Of machine and path: two machines never write the same note.
        name = f"claude:{machine_id}:{source.path.relative_to(claude_home).as_posix()}"
        known = imported.get(ending_of(derived_id("", name)))
        note = _note(source, known or id_of_record(store, name, source.written_at), machine_id)
        existing = store.find(note.id)
        outcome = "left" if is_purged(store.root, note.id) else _outcome(note, existing, ledger.get(note.id))
        counts[outcome] += 1
        if outcome in ("new", "updated"):
            if existing:
                note = replace(note, created_at=existing.created_at)
            changed.append(note)
            ledger[note.id] = _digest(note)
    store.put_all(changed)
    if changed:
        write_atomically(store.root / _LEDGER, json.dumps(ledger, indent=1).encode(), mode=0o600)
    return Imported(**counts)


def _outcome(note: Memory, existing: Memory | None, imported: str | None) -> str:
    """What to do with a note, given the digest of its last import."""
    if existing is None:
        return "left" if imported else "new"
    if imported == _digest(note):
        return "unchanged"
    return "updated" if imported == _digest(existing) else "left"


def _note(source: _Source, note_id: str, machine_id: str) -> Memory:
    return Memory(
        id=note_id,
        type=source.type,
        title=source.title,
        body=source.body,
        project=source.project,
        machine_id=machine_id,
        tags=[CLAUDE_CODE],
        created_at=source.written_at,
        updated_at=utcnow(),
        prov_source="import",
        prov_session=source.session,
    )


def _sources(claude_home: Path, key_of: Callable[[Path], str]) -> Iterator[_Source]:
    for folder in sorted((claude_home / "projects").glob("*/memory")):
        if folder.is_symlink() or not folder.is_dir():
            continue
        project = ""
        for path in sorted(folder.rglob("*.md")):
            if path.name != _INDEX and path.is_file() and not path.is_symlink():
                project = project or redact(_project(folder.parent, key_of))
                yield _source(path, project)


def _source(path: Path, project: str) -> _Source:
    text = path.read_bytes().decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
    parts = re.match(r"---[ \t]*\n(.*?)^---[ \t]*\n?(.*)", text, re.DOTALL | re.MULTILINE)
    meta, body = (_meta(parts.group(1)), parts.group(2)) if parts else ({}, text)
    inner = meta.get("metadata")
    nested: dict[str, Any] = inner if isinstance(inner, dict) else {}
    kind = str(nested.get("type") or meta.get("type") or "")
    # A description says what the note is about; a name often only repeats the file's.
    title = str(meta.get("description") or meta.get("name") or path.stem.replace("_", " ").replace("-", " "))
    return _Source(
        path=path,
        project=project,
        # Redacted and trimmed as in the store, because digests are compared later.
        title=redact(" ".join(title.split()))[:200] or path.stem,
        body=redact(body.strip("\n")),
        type=_TYPES.get(kind, "semantic"),
        session=str(nested.get("originSessionId") or ""),
        written_at=datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds"),
    )


def _meta(front: str) -> dict[str, Any]:
    """The front matter as far as it can be parsed: a stray colon must not lose a memory."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _refuse_growth(yaml.parse(front, Loader=loader))
        found = yaml.load(front, Loader=loader)  # noqa: S506
    except (yaml.YAMLError, ValueError):
        found = dict(re.findall(r"^(\w+):[ \t]*(.+)$", front, re.MULTILINE))
    return found if isinstance(found, dict) else {}


def _refuse_growth(events: Iterator[yaml.Event]) -> None:
    """Refuse aliases, which can grow exponentially, and nesting that overflows the stack."""
    depth = 0
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST or isinstance(event, yaml.AliasEvent):
            raise ValueError("It is not plain front matter.")


def _project(folder: Path, key_of: Callable[[Path], str]) -> str:
    """The project of a folder under projects/, whose name is a path with dashes for everything but letters."""
    cwd = _cwd_of_transcripts(folder) or _path_of(folder.name.lstrip("-"), Path("/"))
    return key_of(cwd) if cwd else folder.name.strip("-").rpartition("-")[2].lower() or "global"


def _cwd_of_transcripts(folder: Path) -> Path | None:
    for transcript in sorted(folder.glob("*.jsonl")):
        with transcript.open("rb") as lines:
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


def _digest(note: Memory) -> str:
    content = json.dumps([note.title, note.body, note.type, note.project])
    return hashlib.blake2b(content.encode("utf-8", "replace"), digest_size=16).hexdigest()


def _read_ledger(root: Path) -> dict[str, str]:
    try:
        ledger = json.loads((root / _LEDGER).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return ledger if isinstance(ledger, dict) else {}
