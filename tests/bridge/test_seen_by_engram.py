"""What happens to a note is what Engram's clients see of its observation."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests import forking
from tests.engram_cli.program import Program

from anamnesis.notes import parse


@pytest.fixture
def program(tmp_path: Path) -> Program:
    made = Program(tmp_path)
    made("save", "Lemurs", "The lemur pool is drained.", "--project", "zoo")
    return made


def note_of(program: Program) -> Path:
    [file] = (program.home / "anamnesis/memory").rglob("*.md")
    return file


def change_row(program: Program, sql: str) -> None:
    """As Engram's own program does, while ours does not run."""
    with closing(sqlite3.connect(program.home / "engram/engram.db")) as db, db:
        db.execute(sql)


def reconcile(program: Program) -> None:
    command = (str(Path(sys.executable).with_name("anamnesis")), "bridge", "reconcile")
    code, _, err = forking.run(command, b"", program.folder, program.environment({}))
    assert (code, err) == (0, b"")


def test_an_edit_in_an_editor_is_an_update_of_its_observation(program: Program) -> None:
    change_row(program, "UPDATE observations SET updated_at = '2026-01-01 00:00:00', revision_count = 4")
    reconcile(program)
    file = note_of(program)
    before = parse(file.read_text())
    edited = file.read_text().replace("is drained", "is drained by hand")
    file.write_text(edited)
    reconcile(program)
    with program.mcp() as tools:
        said = tools.text("mem_get_observation", id=1)
        assert "drained by hand" in said and "Revisions: 5\n" in said
        reconcile(program)
        assert "Revisions: 5\n" in tools.text("mem_get_observation", id=1)  # counted once
    with closing(sqlite3.connect(program.home / "engram/engram.db")) as db:
        (updated_at,) = db.execute("SELECT updated_at FROM observations").fetchone()
    assert updated_at > "2026-01-01 00:00:00"
    assert file.read_text() == edited  # an editor that has it open finds it as it was
    with program.mcp() as tools:
        tools.text("mem_update", id=1, title="Lemur pool")
    after = parse(file.read_text())
    assert (after.engram["revision_count"], after.title) == (6, "Lemur pool")
    assert after.updated_at > before.updated_at


def test_the_other_version_of_a_conflict_says_so(program: Program) -> None:
    file = note_of(program)
    file.write_text(file.read_text().replace("is drained", "is drained on Mondays"))
    change_row(program, "UPDATE observations SET content = 'The lemur pool is never drained.'")
    reconcile(program)
    with program.mcp() as tools:
        found = tools.text("mem_search", query="lemur pool", project="zoo")
        assert found.startswith("Found 2 memories")
        assert found.count("— [conflicting version of #1] Lemurs\n") == 1
        assert "[conflicting version of #1] Lemurs" in tools.text("mem_context", project="zoo")
    with program.mcp(ANAMNESIS_ENGRAM_STRICT="1") as tools:
        assert "conflicting" not in tools.text("mem_search", query="lemur pool", project="zoo")
