"""The fields of a note that are Engram's, changed by commands and by hand: `engram` says the same as the notes."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.command import Command


def exported(anamnesis: Command) -> dict[str, dict[str, object]]:
    """The live observations as another program gets them, by title."""
    assert anamnesis("engram", "export", "all.json").code == 0
    rows = json.loads((anamnesis.folder / "all.json").read_text())["observations"]
    return {row["title"]: row for row in rows if not row.get("deleted_at")}


def file_of(anamnesis: Command, title: str) -> Path:
    [found] = [path for path in (anamnesis.home / "memory").rglob("*.md") if f"\ntitle: {title}\n" in path.read_text()]
    return found


def save(anamnesis: Command, title: str, *more: str) -> str:
    assert anamnesis("engram", "save", title, f"about {title}", "--project", "shop", *more).code == 0
    return file_of(anamnesis, title).stem


def test_a_moved_type_is_that_of_both_sides(anamnesis: Command) -> None:
    id = save(anamnesis, "Title", "--type", "decision")
    anamnesis("move", id, "-t", "procedural")
    assert exported(anamnesis)["Title"]["type"] == "procedural"
    assert "decision" not in file_of(anamnesis, "Title").read_text()


@pytest.mark.parametrize("is_deleted_in_engram", [True, False])
def test_a_restored_note_says_that_its_topic_key_belongs_to_another(
    anamnesis: Command, is_deleted_in_engram: bool
) -> None:
    id = save(anamnesis, "Old", "--topic", "a/b")
    if is_deleted_in_engram:
        with closing(sqlite3.connect(anamnesis.home / "engram.db")) as db, db:
            db.execute("UPDATE observations SET deleted_at = datetime('now')")
    else:
        anamnesis("delete", id, "--yes")
    save(anamnesis, "New", "--topic", "a/b")
    done = anamnesis("restore", id)
    assert done.out.startswith(f"Restored: {id}")
    assert done.err == "Another note has its topic key a/b and keeps it.\n"
    found = exported(anamnesis)
    assert {title: row.get("topic_key") for title, row in found.items()} == {"Old": None, "New": "a/b"}


def test_doctor_finds_a_sync_id_that_two_observations_have_and_gives_each_its_own(anamnesis: Command) -> None:
    save(anamnesis, "First")
    save(anamnesis, "Second")
    with closing(sqlite3.connect(anamnesis.home / "engram.db")) as db, db:
        triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            db.execute(f"DROP TRIGGER {name}")  # as an earlier release left it: reconciled
        db.execute("UPDATE observations SET sync_id = (SELECT sync_id FROM observations WHERE title = 'First')")
        for _, sql in triggers:
            db.execute(sql)
    assert "1 observation has the sync id of another one" in anamnesis("doctor").out
    assert anamnesis("doctor", "--fix").code == 0
    ids = {row["sync_id"] for row in exported(anamnesis).values()}
    assert len(ids) == 2
