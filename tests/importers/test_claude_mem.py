"""claude-mem's database is read while claude-mem runs, in the schemas of all its versions."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.importers.conftest import TOKEN, Here

from anamnesis.importers.databases import open_read_only, rows_of
from anamnesis.importers.foreign_record import Unreadable
from anamnesis.importers.pipeline import ImportResult, Survey
from anamnesis.notes import Memory

# As in its migrations of 2026.
SCHEMA = """
CREATE TABLE schema_versions (id INTEGER PRIMARY KEY, version INTEGER UNIQUE NOT NULL, applied_at TEXT NOT NULL);
CREATE TABLE sdk_sessions (
  id INTEGER PRIMARY KEY AUTOINCREMENT, content_session_id TEXT UNIQUE NOT NULL, memory_session_id TEXT UNIQUE,
  project TEXT NOT NULL, platform_source TEXT, started_at_epoch INTEGER, status TEXT, custom_title TEXT);
CREATE TABLE observations (
  id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL, project TEXT NOT NULL, text TEXT,
  type TEXT NOT NULL, title TEXT, subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT, files_read TEXT,
  files_modified TEXT, prompt_number INTEGER, created_at TEXT, created_at_epoch INTEGER NOT NULL, content_hash TEXT,
  merged_into_project TEXT, agent_type TEXT, metadata TEXT);
CREATE TABLE session_summaries (
  id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL, project TEXT NOT NULL, request TEXT,
  investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT, notes TEXT, prompt_number INTEGER,
  created_at_epoch INTEGER NOT NULL);
CREATE TABLE user_prompts (id INTEGER PRIMARY KEY, content_session_id TEXT, prompt_number INTEGER, prompt_text TEXT);
"""
SESSION: dict[str, Any] = {
    "content_session_id": "c-1",
    "memory_session_id": "m-1",
    "project": "lamp",
    "platform_source": "claude",
}
FOUND: dict[str, Any] = {
    "memory_session_id": "m-1",
    "project": "lamp",
    "type": "bugfix",
    "title": "The lamp was off",
    "subtitle": "A loose wire",
    "facts": json.dumps(["The wire was loose", "It is red"]),
    "narrative": "Tightened the wire.",
    "concepts": json.dumps(["problem-solution", "light"]),
    "files_read": json.dumps(["src/lamp.py"]),
    "files_modified": json.dumps(["src/wire.py"]),
    "created_at_epoch": 1_700_000_000_123,
    "agent_type": "builder",
}


class ClaudeMem:
    def __init__(self, here: Here, schema: str = SCHEMA) -> None:
        self.path = here.home / ".claude-mem" / "claude-mem.db"
        self.path.parent.mkdir(exist_ok=True)
        self.db = sqlite3.connect(self.path)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.executescript(schema)

    def add(self, table: str, row: dict[str, Any]) -> None:
        names = ", ".join(row)
        self.db.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(row))})", [*row.values()])
        self.db.commit()


def test_observations_and_summaries_are_imported_while_claude_mem_runs(here: Here) -> None:
    here.store.put(Memory("n1", "semantic", "T", "B", project="github.com/house/lamp"))
    memory = ClaudeMem(here)
    memory.add("sdk_sessions", SESSION)
    memory.add("observations", FOUND)
    memory.add("session_summaries", {**FOUND_SUMMARY})
    assert here.survey("claude-mem") == Survey(2, 0, 0)
    assert here.run_import("claude-mem") == ImportResult(new=2)
    assert here.survey("claude-mem") == Survey(2, 2, 0)
    notes = here.notes()
    note = notes["The lamp was off"]
    assert note.body == (
        "A loose wire\n\nTightened the wire.\n\n- The wire was loose\n- It is red\n\n**Files modified:**\n- src/wire.py"
    )
    assert (note.type, note.project, note.prov_session) == ("procedural", "github.com/house/lamp", "c-1")
    assert note.tags == ["problem-solution", "light", "claude-mem"]
    assert note.created_at == "2023-11-14T22:13:20+00:00"
    assert 'files_read: ["src/lamp.py"]\n' in note.extra["tags"] and "agent_type: builder\n" in note.extra["tags"]
    summary = notes["Fix the lamp"]
    assert summary.type == "episodic" and summary.body == "**Ask:** Fix the lamp\n\n**Learned:** Wires loosen."
    memory.add("observations", {**FOUND, "title": "Written later"})
    memory.db.execute("UPDATE observations SET narrative = 'Replaced it.' WHERE id = 1")
    memory.db.commit()
    assert here.run_import("claude-mem") == ImportResult(new=1, updated=1, unchanged=1)


FOUND_SUMMARY = {
    "memory_session_id": "m-1",
    "project": "lamp",
    "request": "Fix the lamp",
    "learned": "Wires loosen.",
    "created_at_epoch": 1_700_000_100_000,
}


def test_a_copied_database_gives_the_same_notes_on_another_machine(here: Here) -> None:
    ClaudeMem(here).add("observations", FOUND)
    here.run_import("claude-mem")
    (here.store.root / "imported.json").unlink()
    assert here.run_import("claude-mem", machine="lap") == ImportResult(unchanged=1)


def test_rows_without_text_are_reported_and_wrong_types_are_tolerated(here: Here) -> None:
    memory = ClaudeMem(here)
    memory.add("observations", FOUND)
    empty = dict.fromkeys(("title", "subtitle", "facts", "narrative", "files_modified"))
    memory.add("observations", {**FOUND, **empty})
    odd = {"facts": '["unclosed', "concepts": 7, "narrative": b"caf\xe9 \x00", "created_at_epoch": "soon", "type": 3.5}
    memory.add("observations", {**FOUND, **odd, "title": 12, "metadata": b"\xff", "files_read": '{"a": 1}'})
    memory.db.execute("UPDATE observations SET subtitle = CAST(x'ff41' AS TEXT) WHERE id = 1")
    memory.db.commit()
    done = here.run_import("claude-mem")
    assert (done.new, done.broken) == (2, 1)
    assert done.problems == ("observation/m-1/2: It is empty.",)
    assert here.notes()["12"].body.startswith("A loose wire\n\ncaf\ufffd ")


def test_an_early_schema_without_most_columns_and_tables_is_imported(here: Here) -> None:
    old = "CREATE TABLE observations (id INTEGER PRIMARY KEY, sdk_session_id TEXT, project TEXT, text TEXT, type TEXT)"
    memory = ClaudeMem(here, old)
    memory.add("observations", {"sdk_session_id": "old", "project": "lamp", "text": "It is red.\nVery.", "type": "x"})
    assert here.run_import("claude-mem") == ImportResult(new=1)
    note = here.notes()["It is red."]
    assert (note.prov_session, note.project, note.type) == ("old", "lamp", "semantic")


def test_secrets_are_not_imported(here: Here) -> None:
    memory = ClaudeMem(here)
    memory.add("observations", {**FOUND, "narrative": f"Used {TOKEN}.", "metadata": f'{{"token": "{TOKEN}"}}'})
    here.run_import("claude-mem")
    (path,) = here.store.memory_dir.rglob("*.md")
    assert TOKEN not in path.read_text()


@pytest.mark.parametrize("content", [b"", b"not a database, but long enough to be read as one" * 100])
def test_a_file_that_is_not_a_database_is_reported(here: Here, content: bytes) -> None:
    path = here.write("some.db", content)
    assert here.run_import("claude-mem", path).broken == 1


def test_the_readable_part_of_a_damaged_database_is_imported(here: Here, tmp_path: Path) -> None:
    memory = ClaudeMem(here)
    memory.db.execute("PRAGMA journal_mode = DELETE")
    for number in range(2000):
        memory.add("observations", {**FOUND, "title": f"Lamp {number}"}) if number % 500 == 0 else memory.db.execute(
            "INSERT INTO observations (memory_session_id, project, type, title, created_at_epoch) VALUES (?,?,?,?,?)",
            ("m-1", "lamp", "x", f"Lamp {number}", 1_700_000_000_000 + number),
        )
    memory.db.commit()
    memory.db.close()
    data = bytearray(memory.path.read_bytes())
    data[len(data) // 2 :] = b"\xaa" * (len(data) - len(data) // 2)
    memory.path.write_bytes(data)
    done = here.run_import("claude-mem")
    assert done.new > 0 and done.broken >= 1


def test_the_owner_may_write_while_rows_are_read(here: Here) -> None:
    memory = ClaudeMem(here)
    for number in range(1200):
        memory.db.execute(
            "INSERT INTO observations (memory_session_id, project, type, title, narrative, created_at_epoch)"
            " VALUES (?,?,?,?,?,?)",
            ("m-1", "lamp", "x", f"Lamp {number}", "Before. " * 40, 1_700_000_000_000),
        )
    memory.db.commit()
    memory.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with open_read_only(memory.path) as db:
        rows = rows_of(db, "observations")
        before = [next(rows) for _ in range(500)]
        memory.db.execute("UPDATE observations SET narrative = 'After.'")
        memory.db.commit()
        memory.db.execute("VACUUM")
        memory.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        after = [*rows]
    assert len(before) + len(after) == 1200
    assert {row["narrative"] for row in after if not isinstance(row, Unreadable)} == {"After."}


def test_the_files_of_claude_mem_are_not_changed(here: Here) -> None:
    memory = ClaudeMem(here)
    memory.add("observations", FOUND)
    memory.db.close()
    before = {path.name: path.read_bytes() for path in memory.path.parent.iterdir()}
    here.run_import("claude-mem")
    assert {path.name: path.read_bytes() for path in memory.path.parent.iterdir()} == before
    here.environ["CLAUDE_MEM_DATA_DIR"] = str(here.home / "nowhere")
    assert here.found("claude-mem") == []


def test_columns_that_sqlite_would_compute_are_not_read(here: Here) -> None:
    """Each doubles the one before it: the last would have more than any machine's memory."""
    path = here.home / "crafted.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, c0 TEXT, next INTEGER AS (id + 1) STORED)")
        db.execute("INSERT INTO notes (c0) VALUES ('0123456789')")
        for number in range(60):
            db.execute(f"ALTER TABLE notes ADD COLUMN c{number + 1} TEXT AS (c{number} || c{number}) VIRTUAL")
        db.commit()
    with open_read_only(path) as opened:
        assert [*rows_of(opened, "notes")] == [{"id": 1, "c0": "0123456789", "next": 2}]
