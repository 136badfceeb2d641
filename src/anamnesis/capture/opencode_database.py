"""Sessions in OpenCode's database, as lines for its reader. A session's path is `<database>/<session id>`.

Version 1 stores messages and their parts (`session`, `message`, `part`), version 2 whole messages (`session_v2`,
`session_message`). A database may have the tables of both; the session is read where it has messages.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from anamnesis.capture.entries import LONGEST_LINE, Entry, decode_text, dict_of, dicts_of, text_of

SUFFIX = ".db"
_WAIT_SECONDS = 2.0
_SESSIONS = ("session_v2", "session")
_OLD_MESSAGES = """
SELECT message.id, message.data, part.data
FROM message LEFT JOIN part ON part.message_id = message.id AND length(part.data) < :longest
WHERE message.session_id = :session
ORDER BY message.time_created, message.id, part.id
"""
_MESSAGES = """
SELECT id, type, data FROM session_message
WHERE session_id = :session AND type IN ('user', 'assistant') AND length(data) < :longest
ORDER BY seq
"""


def has_session(database: Path, session: str) -> bool:
    """Whether a database contains a session."""
    with contextlib.suppress(sqlite3.Error), contextlib.closing(_open(database)) as db:
        return _session(db, session) is not None
    return False


def stored_lines(path: str) -> Iterator[bytes]:
    """The session's start, then its messages and those of its subagents; none if they cannot be read."""
    database, session = Path(path).parent, Path(path).name
    with contextlib.suppress(sqlite3.Error), contextlib.closing(_open(database)) as db:
        start = _session(db, session)
        if start is None:
            return
        yield _line({"info": start})
        for message in _messages(db, session):
            yield _line(message)
        for child in _children(db, session):
            for message in _messages(db, child):
                yield _line({**message, "subagent": True})


def _open(database: Path) -> sqlite3.Connection:
    db = sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True, timeout=_WAIT_SECONDS)
    db.row_factory = sqlite3.Row
    # Another program's database: a byte that is not UTF-8 must not hide the session.
    db.text_factory = lambda data: data.decode("utf-8", "replace")
    return db


def _tables(db: sqlite3.Connection) -> set[str]:
    return {str(row[0]) for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _session(db: sqlite3.Connection, session: str) -> Entry | None:
    for table in _SESSIONS:
        if table in _tables(db):
            row = db.execute(f"SELECT * FROM {table} WHERE id = ?", (session,)).fetchone()
            if row:
                known = dict(row)
                return {
                    "id": session,
                    "parentID": known.get("parent_id"),
                    "directory": known.get("directory"),
                    "time": {"created": known.get("time_created")},
                    "revert": decode_text(known.get("revert")),
                }
    return None


def _children(db: sqlite3.Connection, session: str) -> list[str]:
    """The sessions of subagents, also of subagents of subagents."""
    found = [session]
    for table in [table for table in _SESSIONS if table in _tables(db)]:
        waiting = list(found)
        while waiting:
            parent = waiting.pop()
            rows = db.execute(f"SELECT id FROM {table} WHERE parent_id = ? ORDER BY id", (parent,))
            new = [str(row[0]) for row in rows if str(row[0]) not in found]
            found += new
            waiting += new
    return found[1:]


def _messages(db: sqlite3.Connection, session: str) -> Iterator[Entry]:
    tables, values = _tables(db), {"session": session, "longest": LONGEST_LINE}
    rows = iter(db.execute(_MESSAGES, values)) if "session_message" in tables else iter(())
    first = next(rows, None)
    if first is not None:
        yield _message(first)
        yield from map(_message, rows)
    elif {"message", "part"} <= tables:
        for name, parts in groupby(db.execute(_OLD_MESSAGES, values), key=lambda row: row[0]):
            of_message = list(parts)
            info = {**decode_text(of_message[0][1]), "id": name}
            yield {"info": info, "parts": [decode_text(row[2]) for row in of_message if _may_matter(row[2])]}


def _may_matter(part: Any) -> bool:
    """Whether a part may be a text or an edit. The output of other tools, most of a database, is skipped."""
    return isinstance(part, str) and ('"type":"text"' in part or '"filePath"' in part or '"patchText"' in part)


def _message(row: sqlite3.Row) -> Entry:
    """A message of version 2 in the form of version 1."""
    data = decode_text(row["data"])
    info = {**data, "id": row["id"], "role": row["type"], "modelID": text_of(dict_of(data, "model"), "id")}
    content = dicts_of(info.pop("content", None))
    called = [{**part, "tool": part.get("name"), "callID": part.get("id")} for part in content]
    return {"info": info, "parts": [{"type": "text", "text": text_of(data, "text")}, *called]}


def _line(entry: Entry) -> bytes:
    return json.dumps(entry).encode() + b"\n"
