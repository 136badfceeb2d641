"""Memories in `.engram/` for git: a manifest, and one compressed chunk per export. A chunk never changes.

Rows that were exported once are not exported again, even if they change: Engram does the same.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import sqlite3
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from anamnesis.disk import write_atomically
from anamnesis.engram import VERSION, exchange, gojson, sessions
from anamnesis.engram.clean import Clean, cleaned
from anamnesis.engram.database import Refused, writing
from anamnesis.engram.record import Export, Observation, Prompt, Session
from anamnesis.errors import StoreUnavailable
from anamnesis.working_tree import RefusedPath, make_folder, read_file

FOLDER = ".engram"
# Limits on the content of a chunk, because a small file can unpack to more than fits into memory. A parsed value takes
# up to 200 bytes: this many take 110 MB, and 32 MB of text take 220 MB.
MOST_BYTES = 32 << 20
_MOST_VALUES = 1_000_000
_BEFORE_VALUES = (b",", b"[", b"{")
_MOST_MANIFEST = 4 << 20
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
Row = TypeVar("Row", Session, Observation, Prompt)


@dataclass(frozen=True, slots=True)
class Chunk:
    """The content of one chunk, in Engram's order."""

    sessions: tuple[Session, ...]
    observations: tuple[Observation, ...]
    prompts: tuple[Prompt, ...]


@dataclass(frozen=True, slots=True)
class Status:
    """Counts of chunks: imported or written here, listed in the manifest, and listed but not imported."""

    local: int
    remote: int
    pending: int


@dataclass(slots=True)
class ImportedChunks:
    """What was imported, and which chunks could not be read."""

    chunks: int = 0
    skipped: int = 0
    sessions: int = 0
    observations: int = 0
    prompts: int = 0
    unreadable: list[str] = field(default_factory=list)
    older: list[Observation] = field(default_factory=list)
    """Skipped observations that say something else than newer or deleted ones here."""


def status(db: sqlite3.Connection, folder: Path) -> Status:
    known, listed = _known(db), _entries(_manifest(folder))
    return Status(len(known), len(listed), sum(entry["id"] not in known for entry in listed))


def export(
    db: sqlite3.Connection,
    folder: Path,
    created_by: str,
    project: str | None,
    warn: Callable[[str], object] = lambda _: None,
    *,
    clean: Clean = list,
    left_out: Callable[[str], object] = lambda _: None,
) -> tuple[str, Chunk] | None:
    """Export the rows that are in no chunk, of one project or of all; returns the id and content, or None.

    An export beyond the limits of a chunk becomes several, whose ids are joined by commas. A chunk that cannot be read
    is reported to `warn`; its rows may be exported again. `left_out` is that of `exchange.export`.
    """
    manifest = _manifest(folder)
    everything = exchange.export(db, project, clean=clean, left_out=left_out)
    chunk = _new(everything, folder, _entries(manifest), warn)
    known = _known(db) | {entry["id"] for entry in _entries(manifest)}
    parts = {hashlib.sha256(data).hexdigest()[:8]: (part, data) for part, data in _parts(chunk)}
    new = {id: part for id, part in parts.items() if id not in known}
    if not new:
        return None
    moment = everything.exported_at.replace(" ", "T") + "Z"
    try:
        place = make_folder(folder.parent, f"{folder.name}/chunks")
        for id, (_, data) in new.items():
            write_atomically(place / _file(id), pack(data), mode=0o644)
        entries = [_entry(id, part, created_by, moment) for id, (part, _) in new.items()]
        # Keys that later versions of Engram add to the manifest are kept.
        changed = {"version": 1, **manifest, "chunks": [*_entries(manifest), *entries]}
        write_atomically(folder / "manifest.json", _written(changed), mode=0o644)
    except OSError as error:
        raise StoreUnavailable(f"Cannot write {folder}: {error.strerror}.") from error
    for id in new:
        _record(db, id)
    return ", ".join(new), chunk


def _parts(chunk: Chunk) -> list[tuple[Chunk, bytes]]:
    """The chunk and its bytes, split to fit the limits; sessions come before the rows that refer to them."""
    rows = len(chunk.sessions) + len(chunk.observations) + len(chunk.prompts)
    data = gojson.dumps(chunk) if rows else b""
    if rows < 2 or fits(data):
        return [(chunk, data)] if rows else []
    return [*_parts(_slice(chunk, 0, rows // 2)), *_parts(_slice(chunk, rows // 2, rows))]


def _slice(chunk: Chunk, start: int, end: int) -> Chunk:
    """The rows of a chunk from `start` to `end`, counted over all three kinds."""
    after = len(chunk.sessions) + len(chunk.observations)

    def cut(rows: tuple[Row, ...], first: int) -> tuple[Row, ...]:
        return rows[max(0, start - first) : max(0, end - first)]

    return Chunk(cut(chunk.sessions, 0), cut(chunk.observations, len(chunk.sessions)), cut(chunk.prompts, after))


def _entry(id: str, chunk: Chunk, created_by: str, created_at: str) -> dict[str, Any]:
    counts = {"sessions": len(chunk.sessions), "memories": len(chunk.observations), "prompts": len(chunk.prompts)}
    return {"id": id, "created_by": created_by, "created_at": created_at, **counts}


def import_(db: sqlite3.Connection, folder: Path, *, clean: Clean = list, strict: bool = False) -> ImportedChunks:
    """Import each chunk that is not known yet, in one transaction; an unreadable one stops no other."""
    result = ImportedChunks()
    known = _known(db)
    for entry in _entries(_manifest(folder)):
        id = entry["id"]
        if id in known:
            result.skipped += 1
            continue
        try:
            read = _read(folder, id)
            if read is None:
                result.skipped += 1
                continue
            chunk = cleaned(read, clean)
            with writing(db):
                [origin] = clean([str(entry.get("created_by") or "")])
                complete = _complete(db, chunk)
                counts = exchange.import_(db, complete, origin, strict=strict, skipped=result.older.append)
                _record(db, id)
        except (RefusedPath, ValueError, Refused) as error:
            result.unreadable.append(f"chunk {id}: {error}")
            continue
        result.chunks += 1
        result.sessions += counts.sessions_imported
        result.observations += counts.observations_imported
        result.prompts += counts.prompts_imported
    return result


def _complete(db: sqlite3.Connection, chunk: Chunk) -> Export:
    """A chunk with a bare session for each session that neither it nor the database has."""
    known = {session.id for session in chunk.sessions}
    missing: dict[str, Session] = {}
    rows: list[Observation | Prompt] = [*chunk.observations, *chunk.prompts]
    for row in rows:
        if row.session_id not in known and not sessions.get(db, row.session_id):
            bare = Session(row.session_id, row.project or "", "", row.created_at, None, None)
            missing.setdefault(row.session_id, bare)
    return Export(VERSION, "", (*chunk.sessions, *missing.values()), chunk.observations, chunk.prompts)


def _new(everything: Export, folder: Path, entries: list[dict[str, Any]], warn: Callable[[str], object]) -> Chunk:
    """The rows that are in no chunk.

    Engram takes the rows younger than the newest chunk. That loses rows of the same second, rows saved before somebody
    else's export or before one of another project, and notes that were machine-local until now.
    """
    held: set[str] = set()
    for entry in entries:
        held |= _keys(folder, entry["id"], warn)

    def new(rows: Iterable[Row]) -> tuple[Row, ...]:
        return tuple(row for row in rows if _key(row) not in held)

    return Chunk(new(everything.sessions), new(everything.observations), new(everything.prompts))


def _keys(folder: Path, id: str, warn: Callable[[str], object]) -> set[str]:
    try:
        chunk = _read(folder, id)
    except (RefusedPath, ValueError) as error:
        warn(f"chunk {id}: {error}")
        return set()
    if chunk is None:
        return set()
    rows: list[Session | Observation | Prompt] = [*chunk.sessions, *chunk.observations, *chunk.prompts]
    return set(map(_key, rows))


def _key(row: Session | Observation | Prompt) -> str:
    return f"session {row.id}" if isinstance(row, Session) else row.sync_id


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / "manifest.json"
    try:
        data = read_file(folder.parent, f"{folder.name}/{path.name}", _MOST_MANIFEST)
        manifest = {} if data is None else json.loads(data)
    except RefusedPath as error:
        raise StoreUnavailable(error.message, "Replace it by a regular file, or restore it from git.") from error
    except (ValueError, RecursionError) as error:
        raise StoreUnavailable(f"{path} cannot be read: {error}.", "Fix it, or restore it from git.") from error
    if not isinstance(manifest, dict) or not isinstance(manifest.get("chunks"), list | None):
        raise StoreUnavailable(f"{path} is not a manifest of Engram.", "Fix it, or restore it from git.")
    return manifest


def _entries(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    listed = manifest.get("chunks")
    entries = listed if isinstance(listed, list) else []
    return [entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str)]


def _written(manifest: dict[str, Any]) -> bytes:
    text = json.dumps(manifest, ensure_ascii=False, indent=2)
    for character, escaped in _ESCAPES.items():
        text = text.replace(character, escaped)
    return text.encode("utf-8", "replace")


def _file(id: str) -> str:
    return f"{id}.jsonl.gz"


def _read(folder: Path, id: str) -> Chunk | None:
    """A chunk; None if there is no such file. Despite the suffix `.jsonl`, it is one JSON object."""
    if not _ID.fullmatch(id):
        return None
    packed = read_file(folder.parent, f"{folder.name}/chunks/{_file(id)}", MOST_BYTES)
    return None if packed is None else gojson.loads(unpack(packed), Chunk, alone=True)


def _known(db: sqlite3.Connection) -> set[str]:
    return {id for (id,) in db.execute("SELECT chunk_id FROM sync_chunks")}


def _record(db: sqlite3.Connection, id: str) -> None:
    db.execute("INSERT OR IGNORE INTO sync_chunks (chunk_id) VALUES (:id)", {"id": id})


class TooLarge(ValueError):
    """A chunk beyond the limits."""


def pack(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def unpack(packed: bytes) -> bytes:
    """The content, read only up to the limits."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"it cannot be unpacked: {error}") from None
    if len(data) > MOST_BYTES:
        raise TooLarge(f"it unpacks to more than {MOST_BYTES >> 20} MB")
    if not _has_few_values(data):
        raise TooLarge(f"it holds more than {_MOST_VALUES:,} values")
    return data


def fits(data: bytes) -> bool:
    """Whether `unpack` accepts this content."""
    return len(data) <= MOST_BYTES and _has_few_values(data)


def _has_few_values(data: bytes) -> bool:
    if sum(map(data.count, _BEFORE_VALUES)) <= _MOST_VALUES:
        return True
    # They may be commas of a long text: count again outside of strings.
    plain = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    count, position = 0, 0
    while count <= _MOST_VALUES:
        start = plain.find(b'"', position)
        outside = len(plain) if start < 0 else start
        count += 1 + sum(plain.count(mark, position, outside) for mark in _BEFORE_VALUES)
        end = plain.find(b'"', outside + 1)
        if start < 0 or end < 0:
            break
        position = end + 1
    return count <= _MOST_VALUES
