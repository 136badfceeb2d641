"""Notes are embedded to the end by `reindex`; `status` counts them, and `doctor` repairs a damaged vectors.db."""

from __future__ import annotations

import contextlib
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

from tests.cli.command import Command
from tests.cli.test_terminal import plain
from tests.waiting import wait_until
from tests.web.daemon import Daemon


def write(anamnesis: Command, count: int, length: int = 1) -> None:
    with anamnesis.store() as store:
        for number in range(count):
            body = f"The text of number {number}.\n" * length
            store.write(type="semantic", title=f"Note {number}", body=body)


def texts(home: Path) -> int:
    """How many texts have vectors."""
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(home / "vectors.db")) as db:
        (count,) = db.execute("SELECT count(*) FROM texts").fetchone()
        return int(count)
    return 0


def test_reindex_embeds_to_the_end_and_status_counts(anamnesis: Command) -> None:
    write(anamnesis, 3)
    assert anamnesis("status", "--json").json["embedded"] == 0
    assert "3 notes are found by words, and by meaning after the next searches" in plain(
        anamnesis.on_terminal("status")
    )
    assert anamnesis("reindex", "--json").json == {"indexed": 3, "embedded": 3, "unreadable_files": 0}
    assert anamnesis("status", "--json").json["embedded"] == 3
    assert "embedded\t3\n" in anamnesis("status").out
    write(anamnesis, 1)
    assert "1 note is found by words, and by meaning after the next searches" in plain(anamnesis.on_terminal("status"))
    anamnesis("reindex")
    assert "4 notes are found by meaning\n" in plain(anamnesis.on_terminal("status"))


def test_an_interrupted_reindex_keeps_its_work_and_the_next_one_continues(anamnesis: Command) -> None:
    write(anamnesis, 400, length=20)
    process = subprocess.Popen(
        [sys.executable, "-m", "anamnesis", "reindex"],
        env=anamnesis.variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: texts(anamnesis.home) > 0)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "Indexed 400 notes.\n")
    assert errors.endswith(" of 400 notes are embedded; `anamnesis reindex` continues.\n")
    done = texts(anamnesis.home)
    assert 0 < done < 400
    assert anamnesis("reindex", "--json").json["embedded"] == 400


def test_reindex_removes_the_vectors_of_deleted_notes(anamnesis: Command) -> None:
    write(anamnesis, 2)
    anamnesis("reindex")
    anamnesis("delete", *(note["id"] for note in anamnesis("list", "--json").json[:1]))
    assert texts(anamnesis.home) == 2
    anamnesis("reindex")
    assert texts(anamnesis.home) == 1


def test_doctor_finds_a_damaged_file_and_its_fix_loses_nothing(anamnesis: Command) -> None:
    write(anamnesis, 40)
    anamnesis("reindex")
    assert anamnesis("doctor").code == 0
    vectors = anamnesis.home / "vectors.db"
    size = vectors.stat().st_size
    with vectors.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    (fault,) = anamnesis("doctor", "--json").json["faults"]
    assert (fault["subject"], fault["fixable"]) == (str(vectors), True)
    assert fault["fault"].startswith("It is damaged: ")
    assert len(anamnesis("doctor", "--fix", "--json").json["fixed"]) == 1
    assert not vectors.exists()
    assert anamnesis("reindex", "--json").json["embedded"] == 40
    assert anamnesis("doctor").code == 0


def test_a_search_finds_by_meaning_with_and_without_a_daemon(anamnesis: Command) -> None:
    with anamnesis.store() as store:
        store.write(type="semantic", title="Pods", body="kubectl rollout restart")
        store.write(type="semantic", title="Pancakes", body="Two eggs and flour.")
        store.write(type="semantic", title="Beach", body="Empty in October.")

    def first() -> str:
        found = anamnesis("search", "kubernetes", "--json").json
        return str(found[0]["title"]) if found else ""

    assert first() == "Pods"
    daemon = Daemon(anamnesis.home, HOME=anamnesis.variables["HOME"])
    try:
        wait_until(lambda: first() == "Pods")  # within 50 ms, or it is asked again
    finally:
        assert daemon.stop() == (0, "")
