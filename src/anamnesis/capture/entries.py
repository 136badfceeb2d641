"""Reads the lines of a transcript one at a time and decodes only those that may matter."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import IO, Any

Entry = dict[str, Any]

# Longer lines are images and file dumps, never typed text.
LONGEST_LINE = 8 * 1024 * 1024
# The part of an ask or answer that is kept: more than a summary shows, yet thousands fit into memory.
LONGEST_TEXT = 20_000
# Lines longer than 256 KB are read in half the time that a 256 KB buffer needs.
_BUFFER = 1024 * 1024
_MILLISECONDS = 100_000_000_000

# The line's own type, if only plain values precede it. Quotes inside JSON strings are escaped, so text cannot match,
# and neither can the `type` of a nested object: the match stops at the object.
_TYPE = re.compile(
    rb'\s*+\{(?:\s*+(?!"type")"[^"\\]*+"\s*+:\s*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"|[^"{\[,}\s]++)\s*+,)*+'
    rb'\s*+"type"\s*+:\s*+"([^"\\]*+)"'
)


def read_lines(path: str) -> Iterator[bytes]:
    """The lines of a file without the overlong ones; none if it cannot be read."""
    broken: tuple[type[Exception], ...] = (OSError, ValueError, EOFError)
    file: IO[bytes]
    try:
        if path.endswith(".zst"):
            zstd = import_module("compression.zstd")
            broken, file = (*broken, zstd.ZstdError), zstd.open(path, "rb")
        else:
            file = open(path, "rb", buffering=_BUFFER)  # noqa: SIM115 - the open alone may fail with ValueError
    except (OSError, ValueError, ImportError):
        return
    with file:
        try:
            while line := file.readline(LONGEST_LINE):
                if len(line) < LONGEST_LINE or line.endswith(b"\n"):
                    yield line
                else:
                    while (rest := file.readline(_BUFFER)) and not rest.endswith(b"\n"):
                        pass
        except broken:
            return


def type_of(line: bytes) -> bytes | None:
    """The type of the object on a line, without decoding the line; None if it cannot be told."""
    found = _TYPE.match(line)
    return found[1] if found else None


def answers(line: bytes, key: bytes, waiting: Collection[str]) -> bool:
    """Whether a line contains the result of a waiting call, or no call id at all. `key` is like `b'"id":"'`."""
    if not waiting:
        return False
    start, found = line.find(key), False
    while start >= 0:
        found = True
        start += len(key)
        end = line.find(b'"', start)
        if end < 0 or line[start:end].decode("utf-8", "replace") in waiting:
            return True
        start = line.find(key, end)
    return not found


def decode_line(line: bytes) -> Entry | None:
    """The object on a line; None if the line is broken or another value."""
    try:
        entry = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def read_object(path: Path) -> Entry:
    """The object in a small file; an empty one if there is none."""
    return decode_line(b"".join(read_lines(str(path)))) or {}


def decode_text(text: object) -> Entry:
    """The object in a JSON text, or the object itself; an empty one if there is none."""
    if isinstance(text, str):
        return decode_line(text.encode("utf-8", "surrogatepass")) or {}
    return text if isinstance(text, dict) else {}


def text_of(entry: Entry, key: str) -> str:
    value = entry.get(key)
    return value if isinstance(value, str) else ""


def dict_of(entry: Entry, key: str) -> Entry:
    value = entry.get(key)
    return value if isinstance(value, dict) else {}


def dicts_of(value: object) -> list[Entry]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def blocks_of(content: object) -> list[Entry]:
    """A message's content as blocks; a string becomes one block."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else dicts_of(content)


def texts_of(content: object, kinds: Collection[object] = ("text",)) -> list[str]:
    """The non-empty texts in a message's content."""
    texts = (block.get("text") for block in blocks_of(content) if block.get("type") in kinds)
    return [text.strip() for text in texts if isinstance(text, str) and text.strip()]


def moment(value: object) -> str:
    """A time as ISO 8601, from seconds or milliseconds since 1970; a string is returned unchanged."""
    if isinstance(value, str):
        return value
    if not isinstance(value, int | float) or isinstance(value, bool):
        return ""
    try:
        seconds = value / 1000 if value > _MILLISECONDS else value
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        return ""
