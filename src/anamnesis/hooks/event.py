"""The event on a hook's stdin: one JSON object. Some agents never close stdin."""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from pathlib import Path
from typing import Any

_DEADLINE_SECONDS = 2.0
_MOST_BYTES = 32_000_000

Event = dict[str, Any]


def read_event() -> Event:
    """The event on stdin, as soon as it is complete; empty after a timeout."""
    if sys.stdin is None or sys.stdin.isatty():
        return {}
    parts: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.fileno(), parts), daemon=True).start()
    deadline = time.monotonic() + _DEADLINE_SECONDS
    data = b""
    while len(data) < _MOST_BYTES:
        try:
            part = parts.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            break
        data += part
        if not part or data.rstrip().endswith(b"}"):
            event = _parsed(data)
            if event is not None or not part:
                return event or {}
    return _parsed(data) or {}


def working_folder(event: Event) -> Path:
    """The agent's working folder."""
    cwd = event.get("cwd")
    return Path(cwd).expanduser() if isinstance(cwd, str) and cwd else Path.cwd()


def text_of(event: Event, name: str) -> str:
    """A text field of the event; "" if missing."""
    value = event.get(name)
    return value if isinstance(value, str) else ""


def _read(descriptor: int, parts: queue.SimpleQueue[bytes]) -> None:
    try:
        while part := os.read(descriptor, 1 << 20):
            parts.put(part)
    except OSError:
        pass
    parts.put(b"")


def _parsed(data: bytes) -> Event | None:
    try:
        event = json.loads(data.decode("utf-8", "replace").lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else {}
