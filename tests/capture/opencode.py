"""OpenCode's database, as versions 1 and 2 write it."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SESSION = "ses_0123456789abAAAAAAAAAAAAAA"
START = 1_785_578_400_000
Part = dict[str, Any]

_SCHEMAS = {
    1: """
        CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT, title TEXT,
            revert TEXT, time_created INTEGER, time_updated INTEGER);
        CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER,
            data TEXT);
        CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER,
            time_updated INTEGER, data TEXT);
    """,
    2: """
        CREATE TABLE session_v2 (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT, title TEXT,
            revert TEXT, time_created INTEGER, time_updated INTEGER);
        CREATE TABLE session_message (id TEXT PRIMARY KEY, session_id TEXT, type TEXT, seq INTEGER,
            time_created INTEGER, time_updated INTEGER, data TEXT);
    """,
}


def text(words: str, **fields: Any) -> Part:
    return {"type": "text", "text": words, **fields}


def tool(name: str, given: dict[str, Any], status: str = "completed", output: str = "ok", **metadata: Any) -> Part:
    return {"type": "tool", "name": name, "status": status, "input": given, "output": output, "metadata": metadata}


class Stored:
    """A database that a session is written into."""

    def __init__(self, db: sqlite3.Connection, version: int) -> None:
        self._db = db
        self._version = version
        self._count = 0

    def session(self, id: str = SESSION, *, parent: str | None = None, directory: str = "/w/app") -> None:
        table = "session" if self._version == 1 else "session_v2"
        row = (id, parent, directory, START, START)
        self._db.execute(
            f"INSERT INTO {table} (id, parent_id, directory, time_created, time_updated) VALUES (?, ?, ?, ?, ?)", row
        )

    def revert(self, message: str) -> None:
        table = "session" if self._version == 1 else "session_v2"
        self._db.execute(f"UPDATE {table} SET revert = ?", (json.dumps({"messageID": message}),))

    def say(self, role: str, *parts: Part, session: str = SESSION, **info: Any) -> str:
        """Write a message; returns its id."""
        self._count += 1
        time, id = START + 1000 * self._count, f"msg_{self._count:04}"
        if self._version == 1:
            self._say_old(id, session, role, parts, time, info)
        else:
            self._say(id, session, role, parts, time, info)
        return id

    def _say_old(self, id: str, session: str, role: str, parts: tuple[Part, ...], time: int, info: Part) -> None:
        model = {"modelID": "model-x", "path": {"cwd": "/w/app", "root": "/w/app"}} if role == "assistant" else {}
        data = {"role": role, "time": {"created": time}, **model, **info}
        self._db.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", (id, session, time, time, _json(data)))
        for number, part in enumerate([{"type": "step-start"}, *parts]):
            row = (f"prt_{id}_{number}", id, session, time, time, _json(_old_part(part, f"{id}_{number}")))
            self._db.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", row)

    def _say(self, id: str, session: str, role: str, parts: tuple[Part, ...], time: int, info: Part) -> None:
        data: Part = {"time": {"created": time}, **info}
        if role == "assistant":
            content = [_part(part, f"{id}_{number}") for number, part in enumerate(parts)]
            data |= {"agent": "build", "model": {"id": "model-x", "providerID": "p"}, "content": content}
        else:
            role = "synthetic" if any(part.get("synthetic") for part in parts) else role
            data["text"] = "\n".join(part["text"] for part in parts)
        row = (id, session, role, self._count, time, time, _json(data))
        self._db.execute("INSERT INTO session_message VALUES (?, ?, ?, ?, ?, ?, ?)", row)


@contextlib.contextmanager
def database(path: Path, version: int) -> Iterator[Stored]:
    """A database with an empty session."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(_SCHEMAS[version])
        stored = Stored(db, version)
        stored.session()
        yield stored


def _old_part(part: Part, call: str) -> Part:
    if part["type"] != "tool":
        return part
    state = {key: part[key] for key in ("status", "input", "output", "metadata")}
    return {"type": "tool", "tool": part["name"], "callID": call, "state": state}


def _part(part: Part, call: str) -> Part:
    if part["type"] != "tool":
        return part
    state = {"status": part["status"], "input": part["input"], "metadata": part["metadata"]}
    return {"type": "tool", "id": call, "name": part["name"], "state": {**state, "content": [text(part["output"])]}}


def _json(value: Part) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
