"""Transcripts line by line, in Claude Code's current format and in last year's."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Entry = dict[str, Any]


@dataclass(frozen=True)
class Era:
    """One format: the keys before a line's type and message, the keys after them, and the keys that mark an ask."""

    name: str
    before: Entry
    after: Entry
    typed: Entry

    def entry(self, type: str, /, **fields: Any) -> Entry:
        return {**self.before, "type": type, **self.after, **fields}

    def ask(self, content: Any, **fields: Any) -> Entry:
        message = {"role": "user", "content": content}
        return {**self.before, "type": "user", "message": message, **self.after, **self.typed, **fields}

    def answer(self, *texts: str, id: str = "msg_1", model: str = "claude-x", **fields: Any) -> Entry:
        content = [{"type": "text", "text": text} for text in texts]
        return self._assistant({"id": id, "model": model, "content": content}, fields)

    def call(self, tool: str, id: str = "t1", message: str = "msg_1", /, **input: Any) -> Entry:
        block = {"type": "tool_use", "id": id, "name": tool, "input": input}
        return self._assistant({"id": message, "model": "claude-x", "content": [block]}, {})

    def result(self, id: str = "t1", content: Any = "ok", *, error: bool = False, **fields: Any) -> Entry:
        block = {"tool_use_id": id, "type": "tool_result", "content": content}
        block |= {"is_error": True} if error else {}
        message = {"role": "user", "content": [block]}
        return {**self.before, "type": "user", "message": message, **self.after, **fields}

    def _assistant(self, message: Entry, fields: Entry) -> Entry:
        """The message comes before the type, so the type cannot be found without reading the message."""
        message = {"type": "message", "role": "assistant", "stop_reason": None, "usage": {}, **message}
        return {**self.before, "message": message, "requestId": "r1", "type": "assistant", **self.after, **fields}


PLACE: Entry = {"cwd": "/w/app", "sessionId": "s1", "version": "2", "gitBranch": "main"}
TODAY = Era(
    "today",
    {"parentUuid": None, "isSidechain": False},
    {"uuid": "u1", "timestamp": "2026-08-01T10:00:00.000Z", "userType": "external", "entrypoint": "cli", **PLACE},
    {"origin": {"kind": "human"}, "promptSource": "typed"},
)
LAST_YEAR = Era(
    "last year",
    {"parentUuid": None, "isSidechain": False, "userType": "external", **PLACE},
    {"uuid": "u1", "timestamp": "2025-08-01T10:00:00.000Z"},
    {},
)


def queued(prompt: Any, **fields: Any) -> Entry:
    """A prompt typed while the model works."""
    attachment = {"type": "queued_command", "prompt": prompt, "commandMode": "prompt"}
    return TODAY.entry("attachment", attachment={**attachment, "origin": {"kind": "human"}, **fields})


def write(path: Path, *entries: Entry) -> Path:
    path.write_bytes(b"".join(line(entry) for entry in entries))
    return path


def line(entry: Entry, *, compact: bool = True) -> bytes:
    separators = (",", ":") if compact else (", ", ": ")
    return json.dumps(entry, ensure_ascii=False, separators=separators).encode("utf-8", "surrogatepass") + b"\n"


def shuffled(entry: Any, seed: int) -> Any:
    """The same JSON object with its keys in another order, on every level."""
    if isinstance(entry, list):
        return [shuffled(item, seed) for item in entry]
    if not isinstance(entry, dict):
        return entry
    items = [(key, shuffled(value, seed)) for key, value in entry.items()]
    random.Random(seed).shuffle(items)
    return dict(items)
