"""Streams a transcript of any agent into a session. No file content makes it raise."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from itertools import chain
from pathlib import Path

from anamnesis.capture.draft import Draft
from anamnesis.capture.entries import decode_line, read_lines
from anamnesis.capture.session import ParsedSession
from anamnesis.capture.transcript_formats import Reader, reader_of

# The first lines identify the agent; lines of an unknown kind may precede them.
_HEAD_LINES = 50
_HEAD_BYTES = 16 * 1024 * 1024
# A single JSON document cannot be streamed. Those of older Gemini CLI versions are a few megabytes.
_LONGEST_DOCUMENT = 32 * 1024 * 1024
_PACKED = ".zst"


def parse_transcript(path: str | Path, last_message: str = "", cwd: str = "") -> ParsedSession:
    """The session of a transcript of any agent; empty if there is none.

    At a hook, the transcript may lack the last answer; the agent passes it as `last_message`. `cwd` is used if the
    transcript does not name the session's folder.
    """
    file = _present(os.path.expanduser(path))
    if file.endswith(_PACKED) and not _unpacks():
        return ParsedSession(problem=f"{file} is compressed with zstd, which Python reads from version 3.14 on.")
    lines = _lines(file)
    reader, head = _recognised(lines)
    if reader is None and (document := _document(file)):
        lines = iter((document,))
        reader, head = _recognised(lines)
    if reader is None:
        unknown = f"{file} is in a format that Anamnesis cannot read yet; no note was written."
        return ParsedSession(problem=unknown if any(line.strip() for line in head) else "")
    draft = Draft()
    reader(chain(head, lines), Path(file.removesuffix(_PACKED)), draft)
    draft.place(cwd=cwd)
    return draft.session(last_message.strip())


def _lines(file: str) -> Iterator[bytes]:
    """The lines of a transcript. A path below a file is a session in OpenCode's database."""
    if not os.path.isfile(os.path.dirname(file)):
        return read_lines(file)
    from anamnesis.capture.opencode_database import stored_lines

    return stored_lines(file)


def _recognised(lines: Iterator[bytes]) -> tuple[Reader | None, list[bytes]]:
    """The reader for these lines, and the lines read to find it."""
    head, size = [], 0
    for line in lines:
        head.append(line)
        size += len(line)
        entry = decode_line(line)
        if entry and (reader := reader_of(entry)):
            return reader, head
        if len(head) >= _HEAD_LINES or size > _HEAD_BYTES:
            break
    return None, head


def _document(file: str) -> bytes:
    """A file that is one JSON document; empty if it is not, or is too long."""
    try:
        fits = file.endswith(".json") and os.path.getsize(file) <= _LONGEST_DOCUMENT
        return Path(file).read_bytes() if fits else b""
    except (OSError, ValueError):
        return b""


def _present(file: str) -> str:
    """The file, or its compressed form: Codex compresses transcripts after some days."""
    try:
        packed = not os.path.exists(file) and os.path.exists(file + _PACKED)
    except ValueError:
        return file
    return file + _PACKED if packed else file


def _unpacks() -> bool:
    try:
        import_module("compression.zstd")
    except ImportError:
        return False
    return True
