"""No verb and no tool lets a secret into engram.db, and none lets one out with a chunk or an export."""

from __future__ import annotations

import contextlib
import gzip
import json
import sqlite3
from pathlib import Path

import pytest
from tests.engram_cli.program import Program

TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
HIDDEN = "[REDACTED:github-token]"
WARNING = "Redacted before it was stored: github-token."
TEXT = f"use {TOKEN} here"
CALLS: list[tuple[str, dict[str, object]]] = [
    ("mem_session_start", {"id": f"s {TOKEN}", "project": TEXT, "directory": TEXT}),
    ("mem_save", {"title": TEXT, "content": TEXT, "type": TEXT, "project": TEXT, "topic_key": TEXT}),
    ("mem_save", {"title": "t", "content": TEXT, "session_id": f"s {TOKEN}"}),
    ("mem_update", {"id": 1, "title": TEXT, "content": f"new {TEXT}"}),
    ("mem_save_prompt", {"content": TEXT, "project": TEXT}),
    ("mem_session_summary", {"content": TEXT, "project": TEXT}),
    ("mem_capture_passive", {"content": f"## Key Learnings:\n\n1. Always {TEXT} for the deployment\n"}),
    ("mem_session_end", {"id": f"s {TOKEN}", "summary": TEXT}),
    ("mem_merge_projects", {"from": f"use {HIDDEN} here".lower(), "to": f"p {TOKEN}"}),
]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


def stored(program: Program) -> str:
    """Every text of every table, in lower case, as project names are."""
    with contextlib.closing(sqlite3.connect(program.home / "engram" / "engram.db")) as db:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return repr([db.execute(f"SELECT * FROM {name}").fetchall() for name in names]).lower()


def keep_as_engram_does(program: Program) -> None:
    """Store a secret in every text of a row, with the redaction turned off."""
    with program.mcp(ANAMNESIS_ENGRAM_STRICT="1", ANAMNESIS_BRIDGE="off") as tools:
        for name, arguments in CALLS[:-1]:
            assert "Redacted" not in tools.text(name, **arguments)
    assert TOKEN.lower() in stored(program)


def test_no_tool_stores_or_repeats_a_secret_and_each_names_its_kind(program: Program) -> None:
    with program.mcp() as tools:
        for name, arguments in CALLS:
            said = tools.text(name, **arguments)
            assert said.endswith(f"\n⚠ {WARNING}"), said
            assert TOKEN.lower() not in said.lower()
        assert "Redacted" not in tools.text("mem_search", query=TOKEN)
        assert "Redacted" not in tools.text("mem_save", title="t", content="plain")
    assert TOKEN.lower() not in stored(program)
    with contextlib.closing(sqlite3.connect(program.home / "engram" / "engram.db")) as db:
        [(ended,)] = db.execute("SELECT ended_at FROM sessions WHERE id = ?", (f"s {HIDDEN}",)).fetchall()
    assert ended


def test_the_project_of_a_server_is_redacted_too(program: Program) -> None:
    with program.mcp("--project", f"p {TOKEN}") as tools:
        tools.text("mem_save", title="t", content="c")
    assert TOKEN.lower() not in stored(program)


def test_save_names_on_stderr_what_it_redacted(program: Program) -> None:
    done = program("save", TEXT, TEXT, "--type", TEXT, "--project", TEXT, "--topic", TEXT)
    assert (done.code, done.err) == (0, f"{WARNING}\n")
    assert TOKEN not in done.out
    assert TOKEN.lower() not in stored(program)
    assert program("save", "title", "plain").err == ""


def test_chunks_exports_and_vaults_hold_no_secret_of_the_rows(program: Program) -> None:
    keep_as_engram_does(program)
    for strict in ("", "1"):
        variables = {"ANAMNESIS_ENGRAM_STRICT": strict, "ANAMNESIS_BRIDGE": "off"}
        assert program("export", f"all{strict}.json", **variables).code == 0
        assert program("obsidian-export", "--vault", f"vault{strict}", **variables).code == 0
    assert program("sync", "--all", ANAMNESIS_BRIDGE="off").code == 0
    assert TOKEN.lower() in stored(program)
    written = {path: path.read_bytes() for path in program.folder.rglob("*") if path.is_file()}
    chunks = [gzip.decompress(data) for path, data in written.items() if path.name.endswith(".gz")]
    assert len(chunks) == 1
    for data in (*written.values(), *chunks):
        assert TOKEN.lower().encode() not in data.lower()
    assert not [path for path in written if TOKEN.lower() in str(path).lower()]
    rows = json.loads(chunks[0])
    assert {each["session_id"] for each in rows["observations"]} <= {each["id"] for each in rows["sessions"]}
    assert program("sync", "--all", ANAMNESIS_BRIDGE="off").out.endswith("all memories already exported.\n")


def test_an_import_stores_no_secret_and_names_its_kind(program: Program, tmp_path: Path) -> None:
    observation = {
        "id": 1, "sync_id": "obs-aa", "session_id": f"s {TOKEN}", "type": "manual", "title": TEXT, "content": TEXT,
        "project": TEXT, "scope": "project", "created_at": "2026-01-01 00:00:00", "updated_at": "2026-01-01 00:00:00",
    }  # fmt: skip
    session = {"id": f"s {TOKEN}", "project": TEXT, "directory": "", "started_at": "2026-01-01 00:00:00"}
    rows = {"sessions": [session], "observations": [observation], "prompts": []}
    (program.folder / "all.json").write_text(json.dumps({"version": "0.1.0", **rows}))
    folder = program.folder / ".engram"
    (folder / "chunks").mkdir(parents=True)
    (folder / "chunks" / "aabbccdd.jsonl.gz").write_bytes(gzip.compress(json.dumps(rows).encode()))
    entry = {"id": "aabbccdd", "created_by": "alice", "created_at": "2026-01-01T00:00:00Z"}
    (folder / "manifest.json").write_text(json.dumps({"version": 1, "chunks": [entry]}))
    for arguments in (("sync", "--import"), ("import", "all.json")):
        done = program(*arguments)
        assert (done.code, done.err) == (0, f"{WARNING}\n")
    assert TOKEN.lower() not in stored(program)
