"""Many processes write one file at once and none is refused; a killed one leaves only complete changes."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

from tests.engram.rows import assert_sound

from anamnesis.engram import prompts, search, sessions
from anamnesis.engram.database import connect, prepare

WRITERS, WRITES = 6, 80


def start(work: str, path: Path, name: str, number: int = WRITES) -> subprocess.Popen[str]:
    writer = Path(__file__).with_name("writer.py")
    return subprocess.Popen(
        [sys.executable, "-W", "error", writer, work, path, name, str(number)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_processes_that_write_at_once_are_never_refused_and_lose_nothing(path: Path) -> None:
    with contextlib.closing(connect(path)) as db:
        sessions.create(db, "go", "engram")
        started = [start("ours", path, f"w{number}") for number in range(WRITERS)] + [start("engrams", path, "go")]
        assert [process.communicate()[1] for process in started] == [""] * (WRITERS + 1)
        assert db.execute("SELECT count(*) FROM observations").fetchone() == (WRITERS * (WRITES + 1) + WRITES,)
        assert db.execute("SELECT count(*) FROM user_prompts").fetchone() == (WRITERS * WRITES,)
        (queued,) = db.execute("SELECT count(*) FROM sync_mutations").fetchone()
        assert queued == 1 + WRITERS * (1 + 3 * WRITES)
        assert db.execute("SELECT sum(revision_count) FROM observations WHERE topic_key IS NOT NULL").fetchone() == (
            WRITERS * WRITES,
        )
        assert_sound(db)


def test_a_write_waits_for_another_process_and_readers_wait_for_nobody(path: Path) -> None:
    with contextlib.closing(connect(path)) as db, start("holding", path, "holding") as holder:
        assert holder.stdin and holder.stdout
        assert holder.stdout.readline() == "holding\n"
        with start("ours", path, "waiting", 1) as waiting:
            assert sessions.get(db, "waiting") is None
            holder.stdin.write("\n")
            holder.stdin.flush()
            assert waiting.communicate()[1] == ""
        assert sessions.get(db, "waiting")


def test_a_killed_writer_leaves_whole_changes_only_and_every_acknowledged_one(tmp_path: Path) -> None:
    path = tmp_path / "engram.db"
    acknowledged: list[str] = []
    for run in range(6):
        with start("endless", path, f"run{run}", 40_000) as writer:
            assert writer.stdout
            acknowledged += [writer.stdout.readline().strip() for _ in range(1 + 3 * run)]
            writer.kill()
            acknowledged += [line.strip() for line in writer.stdout if line.endswith("\n")]
        prepare(path)
        with contextlib.closing(connect(path)) as db:
            assert_sound(db)
            for word in acknowledged:
                assert len(prompts.search(db, word)) == 1
                assert sum(found.topic_key is None for found in search.search(db, word)) == 3
            (torn,) = db.execute(
                "SELECT count(*) FROM (SELECT 1 FROM observations WHERE topic_key IS NULL"
                " GROUP BY substr(title, 1, instr(title, ' ')) HAVING count(*) <> 3)"
            ).fetchone()
            assert torn == 0


def test_a_file_whose_making_was_killed_is_made_the_next_time(tmp_path: Path) -> None:
    for run in range(5):
        path = tmp_path / f"{run}" / "engram.db"
        with start("endless", path, "x", 1) as maker:
            while not path.exists():
                assert maker.poll() is None
            for _ in range(2_000 * run):
                path.exists()
            maker.kill()
        prepare(path)
        with contextlib.closing(connect(path)) as db:
            sessions.create(db, "s", "p")
            assert_sound(db)
