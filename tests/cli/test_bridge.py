"""`anamnesis bridge`: the adoption of an existing engram.db."""

from __future__ import annotations

import gzip
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.command import Command
from tests.cli.test_terminal import plain

from anamnesis.disk import locked
from anamnesis.engram import database, observations, sessions
from anamnesis.engram.observations import NewObservation


@pytest.fixture
def engram(anamnesis: Command) -> Path:
    """Three observations in ~/.engram, of which one is deleted."""
    path = Path(anamnesis.variables["HOME"]) / ".engram" / "engram.db"
    database.prepare(path)
    with closing(database.connect(path)) as db:
        sessions.create(db, "s", "shop", "")
        for number in range(3):
            observations.add(db, NewObservation("s", f"Title {number}", f"zebra {number}", project="shop"))
        observations.delete(db, 3)
    return path


def test_the_first_thing_done_in_a_new_home_may_be_an_adoption(anamnesis: Command, engram: Path) -> None:
    done = anamnesis("bridge", "reconcile")
    assert (done.code, done.out, done.err) == (0, "Compared 3 changes; 0 are left.\n", "")
    assert len(anamnesis("search", "zebra", "--json").json) == 2
    assert anamnesis("bridge", "reconcile").out == "Nothing had changed.\n"
    assert anamnesis("bridge", "reconcile", "--all", "--json").json["waiting"] == 0


def test_the_status_changes_with_a_reconciliation(anamnesis: Command, engram: Path) -> None:
    before = anamnesis("bridge", "status", "--json")
    assert (before.code, before.json["notes"], before.json["waiting"]) == (1, 0, {"notes": 0, "observations": 3})
    assert before.json["database"] == str(engram)
    assert "3 changed observations are waiting: anamnesis bridge reconcile" in plain(
        anamnesis.on_terminal("bridge", "status")
    )
    anamnesis("bridge", "reconcile")
    after = anamnesis("bridge", "status", "--json")
    assert (after.code, after.json["notes"], after.json["observations"], after.json["twins"]) == (0, 2, 2, 2)
    assert "2 notes ⇄ 2 observations" in plain(anamnesis.on_terminal("bridge", "status"))


def test_an_edit_in_place_is_looked_for(anamnesis: Command, engram: Path) -> None:
    """The folder's mtime is unchanged, and no daemon watches."""
    anamnesis("bridge", "reconcile")
    file = next((anamnesis.home / "memory").rglob("*.md"))
    file.write_text(file.read_text() + "giraffe\n")
    status = anamnesis("bridge", "status", "--json")
    assert (status.code, status.json["waiting"]) == (1, {"notes": 1, "observations": 0})
    file.write_text(file.read_text() + "okapi\n")
    assert anamnesis("bridge", "reconcile").code == 0
    assert "okapi" in anamnesis("engram", "search", "giraffe okapi").out


def test_two_do_not_reconcile_at_once(anamnesis: Command, engram: Path) -> None:
    anamnesis.home.mkdir()
    with locked(anamnesis.home / "reconcile.lock"):
        refused = anamnesis("bridge", "reconcile")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == "anamnesis: Another process is reconciling. `anamnesis bridge status` shows what is left.\n"


@pytest.mark.parametrize("verb", ["status", "reconcile"])
def test_without_an_engram_db_there_is_no_bridge(anamnesis: Command, verb: str) -> None:
    refused = anamnesis("bridge", verb)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith("anamnesis: There is no bridge: no engram.db was found")


def test_a_note_that_stays_on_this_machine_is_in_no_chunk(anamnesis: Command, engram: Path) -> None:
    anamnesis("write", "Private", "okapi", "--scope", "machine-local")
    anamnesis("write", "Shared", "giraffe")
    assert "okapi" in anamnesis("engram", "search", "okapi").out
    assert anamnesis("engram", "sync", "--all").code == 0
    (chunk,) = (anamnesis.folder / ".engram" / "chunks").iterdir()
    text = gzip.decompress(chunk.read_bytes())
    assert b"giraffe" in text
    assert b"okapi" not in text


@pytest.mark.parametrize(
    "arguments", [["history", "1"], ["bridge", "reconcile", "--all"], ["doctor"], ["write", "a", "b"]]
)
def test_a_damaged_engram_db_is_reported_in_one_sentence(
    anamnesis: Command, engram: Path, arguments: list[str]
) -> None:
    anamnesis("bridge", "reconcile")
    with engram.open("r+b") as file:
        file.seek(8192)
        file.write(bytes(8192))
    done = anamnesis(*arguments)
    assert "Traceback" not in done.err
    assert done.err.count("\n") <= 1
    if arguments[0] == "write":
        assert done.code == 0
    else:
        assert (done.code, "malformed" in done.out + done.err) == (1, True)


def test_an_engram_db_that_is_too_old_is_named_by_status_and_doctor(anamnesis: Command) -> None:
    anamnesis("write", "Title", "body")
    path = Path(anamnesis.variables["HOME"]) / ".engram/engram.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE observations (name TEXT PRIMARY KEY, content TEXT)")
    reason = f"{path} has the tables of a very old Engram"
    status = anamnesis("status", "--json")
    assert (status.code, status.json["bridge"]) == (0, None)
    assert status.json["bridge_fault"].startswith(reason)
    assert f"bridge\tfault\t{reason}" in anamnesis("status").out
    assert "Run engram once to migrate first" in " ".join(plain(anamnesis.on_terminal("status")).split())
    (fault,) = anamnesis("doctor", "--json").json["faults"]
    assert fault["fault"].startswith(reason)
