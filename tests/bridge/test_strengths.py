"""The use of notes is in Reverie's columns of engram.db, if it has these, and a change of them changes no note."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.engram.rows import assert_sound, columns, save

from anamnesis.bridge import strengths
from anamnesis.engram import observations, sessions
from anamnesis.engram.database import connect, prepare
from anamnesis.store.recording import record
from anamnesis.vault import Vault

# A version of Reverie with a column less than ours, and one of its own.
FOREIGN = (
    "ALTER TABLE observations ADD COLUMN strength REAL DEFAULT 1.0",
    "ALTER TABLE observations ADD COLUMN stability REAL DEFAULT 1.0",
    "ALTER TABLE observations ADD COLUMN mood TEXT DEFAULT 'calm'",
)


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    prepare(tmp_path / "engram.db")
    with Vault(tmp_path / "home") as vault:
        vault.connect(tmp_path / "engram.db", "desktop")
        yield vault


@pytest.fixture
def db(tmp_path: Path, vault: Vault) -> Iterator[sqlite3.Connection]:
    with closing(connect(tmp_path / "engram.db")) as db:
        yield db
        assert_sound(db)


def used(vault: Vault, note_id: str, *sessions: str) -> None:
    for session in sessions:
        record(vault.notes.root, "opened", [note_id], session)


def values(db: sqlite3.Connection, names: str) -> list[tuple[object, ...]]:
    return db.execute(f"SELECT {names} FROM observations ORDER BY id").fetchall()


def test_without_the_columns_nothing_is_written_or_added(vault: Vault, db: sqlite3.Connection) -> None:
    used(vault, vault.write(type="semantic", title="t", body="b").id, "one")
    before = columns(db, "observations")
    assert vault.write_strengths(add=False) == 0
    assert columns(db, "observations") == before


def test_used_notes_have_their_values_and_the_others_their_defaults(vault: Vault, db: sqlite3.Connection) -> None:
    note = vault.write(type="semantic", title="used", body="b")
    vault.write(type="semantic", title="unused", body="c")
    used(vault, note.id, "one", "two", "three")

    assert vault.write_strengths(add=True) == 1
    names = "strength, depth_score, session_spread, stability, staleness_score, consolidation_status"
    assert values(db, names) == [(1.0, 3, 3, 1.0, 0.0, "Staged"), (1.0, 1, 1, 1.0, 0.0, "Staged")]
    (signal,), (none,) = values(db, "signal_score")
    assert (signal, none) == (pytest.approx(1.386, abs=0.01), 0.0)
    assert vault.write_strengths(add=True) == 0, "nothing has changed since"


def test_it_is_no_change_of_a_note(vault: Vault, db: sqlite3.Connection) -> None:
    note = vault.write(type="semantic", title="used", body="b")
    files = {path: path.read_bytes() for path in vault.notes.root.rglob("*.md")}
    before = values(db, "updated_at, revision_count")
    used(vault, note.id, "one")
    assert vault.write_strengths(add=True) == 1
    assert vault.bridge
    assert vault.bridge.waiting().total == 0
    assert vault.reconcile() == 0
    assert db.execute("SELECT count(*) FROM anamnesis_revisions").fetchone() == (0,)
    assert {path: path.read_bytes() for path in vault.notes.root.rglob("*.md")} == files
    assert values(db, "updated_at, revision_count") == before


def test_a_superseded_note_is_archived_and_its_successor_consolidated(vault: Vault, db: sqlite3.Connection) -> None:
    old = vault.write(type="semantic", title="old", body="b")
    new = vault.write(type="semantic", title="new", body="c", supersedes=old.id)
    used(vault, old.id, "one")
    used(vault, new.id, "one")
    vault.write_strengths(add=True)
    assert values(db, "consolidation_status") == [("Archived",), ("Consolidated",)]


def test_columns_of_another_reverie_survive_whatever_is_done_to_their_rows(
    tmp_path: Path, vault: Vault, db: sqlite3.Connection
) -> None:
    for statement in FOREIGN:
        db.execute(statement)
    note = vault.write(type="semantic", title="t", body="b")
    sessions.create(db, "s1", "engram")
    save(db, "of an agent")
    db.execute("UPDATE observations SET strength = 0.4, stability = 7.5, mood = 'keen'")
    vault.update(note.id, body="other")
    vault.reconcile()
    observations.update(db, 2, {"content": "changed"})
    observations.delete(db, 2, False)
    vault.reconcile()
    vault.notes.reindex()
    assert strengths.is_wanted(db, add=False)
    assert vault.write_strengths(add=False) == 0

    assert values(db, "strength, stability, mood") == [(0.4, 7.5, "keen")] * 2
    assert "strength" not in next(iter(vault.notes.root.rglob("*.md"))).read_text()
    used(vault, note.id, "one")
    assert vault.write_strengths(add=False) == 1
    assert values(db, "strength, stability, mood") == [(1.0, 1.0, "keen"), (0.4, 7.5, "keen")]
    assert "session_spread" not in columns(db, "observations")
