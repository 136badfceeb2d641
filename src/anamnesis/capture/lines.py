"""The lines of a transcript: read one at a time, decoded only if they may matter."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Any

# Longer lines are images and dumps of files. Nobody types one.
LONGEST_LINE = 8 * 1024 * 1024
# What is kept of one ask or answer: more than any summary shows, little enough to keep thousands.
LONGEST_TEXT = 20_000
# Half the time of a 256 KB buffer where lines are longer than that.
_BUFFER = 1024 * 1024

# The line's own type, where only plain values stand before it. Quotes within JSON strings are escaped, so no
# text can look like this, and a `type` within an object cannot either: the walk stops at the object.
_TYPE = re.compile(
    rb'\s*+\{(?:\s*+(?!"type")"[^"\\]*+"\s*+:\s*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"|[^"{\[,}\s]++)\s*+,)*+'
    rb'\s*+"type"\s*+:\s*+"([^"\\]*+)"'
)
_RESULT = b'"type":"tool_result"'
_RESULT_OF = b'"tool_use_id":"'


def read_lines(path: str) -> Iterator[bytes]:
    """The lines of a file but for the overlong ones; none if it cannot be read."""
    try:
        file = open(path, "rb", buffering=_BUFFER)  # noqa: SIM115 - the open alone may fail with ValueError
    except (OSError, ValueError):
        return
    with file:
        try:
            while line := file.readline(LONGEST_LINE):
                if len(line) < LONGEST_LINE or line.endswith(b"\n"):
                    yield line
                else:
                    while (rest := file.readline(_BUFFER)) and not rest.endswith(b"\n"):
                        pass
        except OSError:
            return


def may_matter(line: bytes, waiting: Collection[str]) -> bool:
    """Whether a line may hold an ask, an answer or the result of a `waiting` call; False only if it cannot."""
    known = _TYPE.match(line)
    if known is None:
        return b'"assistant"' in line or b'"user"' in line or b'"queued_command"' in line
    if known[1] == b"user":
        return _RESULT not in line or bool(waiting and _answers(line, waiting))
    return known[1] == b"assistant" or (known[1] == b"attachment" and b'"queued_command"' in line)


def decode_line(line: bytes) -> dict[str, Any] | None:
    """The object on a line; None if the line is broken or holds something else."""
    try:
        entry = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def blocks_of(content: object) -> list[dict[str, Any]]:
    """A message's content as blocks; a plain text is one block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def texts_of(content: object) -> list[str]:
    """The texts in a message's content, without the empty ones."""
    texts = (block.get("text") for block in blocks_of(content) if block.get("type") == "text")
    return [text.strip() for text in texts if isinstance(text, str) and text.strip()]


def message_of(entry: dict[str, Any]) -> dict[str, Any]:
    message = entry.get("message")
    return message if isinstance(message, dict) else {}


def _answers(line: bytes, waiting: Collection[str]) -> bool:
    """Whether a line of tool results has one of a waiting call, or does not say of which."""
    start, found = line.find(_RESULT_OF), False
    while start >= 0:
        found = True
        start += len(_RESULT_OF)
        end = line.find(b'"', start)
        if end < 0 or line[start:end].decode("utf-8", "replace") in waiting:
            return True
        start = line.find(_RESULT_OF, end)
    return not found
