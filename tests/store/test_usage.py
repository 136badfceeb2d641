"""The use of notes is recorded without a lock and counted once; used notes get stronger, and unused ones fade."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.disks import DISKS, command_on
from tests.killing import fork, wait_for

from anamnesis.store import MemoryStore
from anamnesis.store.recording import record
from anamnesis.store.strength import KINDS, Kind, Use
from anamnesis.store.tombstones import bury
from anamnesis.store.usage import Usage

DAY = 86_400.0


@pytest.fixture
def usage(tmp_path: Path) -> Usage:
    return Usage(tmp_path)


def test_uses_are_counted_by_kind_and_by_session(tmp_path: Path, usage: Usage) -> None:
    record(tmp_path, "injected", ["a", "b"], "one")
    record(tmp_path, "found", ["a"], "one")
    record(tmp_path, "opened", ["a"], "one")
    record(tmp_path, "opened", ["a"], "two")

    usage.take_in()
    totals = usage.of(["a", "b", "c"])

    assert totals["a"].counts == {"injected": 1, "found": 1, "opened": 2}
    assert (totals["a"].use.uses, totals["a"].use.sessions) == (3, 2)
    assert totals["b"].use == Use(), "to be injected is no use"
    assert "c" not in totals


def test_lines_that_are_read_twice_count_once(tmp_path: Path, usage: Usage) -> None:
    record(tmp_path, "opened", ["a"], "one")
    again = (tmp_path / "usage.jsonl").read_bytes()
    assert usage.take_in() == 1
    (tmp_path / "usage.jsonl.left").write_bytes(again)

    usage.take_in()
    assert usage.of(["a"])["a"].counts == {"opened": 1}
    assert not list(tmp_path.glob("usage.jsonl*"))


@pytest.mark.parametrize(
    "line", [b"{", b"[]", b"null", b'{"at": "x"}', b'{"at": 1, "session": "", "kind": "eaten", "ids": ["a"]}', b"\xff"]
)
def test_foreign_lines_are_left_out(tmp_path: Path, usage: Usage, line: bytes) -> None:
    (tmp_path / "usage.jsonl").write_bytes(line + b"\n")
    record(tmp_path, "opened", ["a"])

    usage.take_in()
    assert usage.every().keys() == {"a"}


def test_a_line_that_a_full_disk_has_cut_takes_no_other_with_it(tmp_path: Path, usage: Usage) -> None:
    (tmp_path / "usage.jsonl").write_bytes(b'\n{"at": 1, "session": "", "ki')
    record(tmp_path, "opened", ["a"])

    usage.take_in()
    assert usage.every().keys() == {"a"}


def test_what_a_session_does_with_a_note_counts_once_a_day(tmp_path: Path, usage: Usage) -> None:
    """A script in a loop makes no note strong, but the time of the last use is that of the last use."""
    line = '{{"at": {}, "kind": "found", "session": "s", "ids": ["a"]}}\n'
    (tmp_path / "usage.jsonl").write_text("".join(line.format(5 * 86_400 + number) for number in range(500)))
    usage.take_in()

    once = usage.of(["a"])["a"]
    assert once.counts == {"found": 1}
    assert (once.use.uses, once.use.sessions, once.use.stability) == (1, 1, 1.0)
    assert once.use.last == 5 * 86_400 + 499
    assert [event.at for event in usage.events("a")] == [5 * 86_400 + 499]
    (tmp_path / "usage.jsonl").write_text(line.format(6 * 86_400))
    usage.take_in()
    again = usage.of(["a"])["a"].use
    assert (again.uses, again.sessions) == (2, 1)


def test_a_time_in_the_future_counts_as_now(tmp_path: Path, usage: Usage) -> None:
    (tmp_path / "usage.jsonl").write_text('{"at": 99999999999, "kind": "opened", "session": "s", "ids": ["a"]}\n')
    usage.take_in()

    assert usage.of(["a"])["a"].use.last <= time.time()


def test_where_the_disk_cannot_be_written_nothing_is_recorded_and_nothing_fails(tmp_path: Path) -> None:
    record(tmp_path / "missing", "opened", ["a"])

    usage = Usage(tmp_path / "missing")
    assert usage.take_in() == 0
    assert usage.of(["a"]) == {}


@pytest.mark.parametrize("disk", DISKS)
def test_on_a_disk_that_cannot_be_written_the_record_is_read_and_stays(tmp_path: Path, usage: Usage, disk: str) -> None:
    record(tmp_path, "opened", ["a"], "one")
    usage.take_in()
    usage.close()
    record(tmp_path, "opened", ["a"], "two")
    read = (
        "import sys; from pathlib import Path; from anamnesis.store.usage import Usage\n"
        "from anamnesis.store.recording import record\n"
        "usage = Usage(Path(sys.argv[1])); record(Path(sys.argv[1]), 'opened', ['a'], 'three'); usage.take_in()\n"
        "print(usage.of(['a'])['a'].use.uses)"
    )
    command = command_on(disk, tmp_path, [sys.executable, "-c", read, str(tmp_path)])
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    for folder in (tmp_path, *tmp_path.iterdir()):
        folder.chmod(0o700)

    assert done.stdout.strip() in ("1", "2"), done.stderr
    usage.take_in()
    # A file that is there can be appended to, also in a folder that cannot be changed.
    assert usage.of(["a"])["a"].use.uses == (3 if disk == "closed" else 2)
    assert not list(tmp_path.glob("usage.jsonl*"))


def test_lines_that_cannot_be_counted_do_not_gather_in_more_and_more_files(tmp_path: Path, usage: Usage) -> None:
    (tmp_path / "usage.db").mkdir()
    for _ in range(5):
        record(tmp_path, "opened", ["a"])
        assert usage.take_in() == 0

    assert len(list(tmp_path.glob("usage.jsonl*"))) <= 2
    (tmp_path / "usage.db").rmdir()
    assert usage.take_in() == 5


def test_the_record_does_not_grow_without_a_reader(tmp_path: Path) -> None:
    (tmp_path / "usage.jsonl").write_bytes(b"\n" * 4_000_000)
    record(tmp_path, "opened", ["a"])

    assert (tmp_path / "usage.jsonl").stat().st_size == 4_000_000


def test_sessions_are_not_named_and_others_cannot_read_the_record(tmp_path: Path, usage: Usage) -> None:
    record(tmp_path, "opened", ["a"], "the session's own name")
    assert (tmp_path / "usage.jsonl").stat().st_mode & 0o077 == 0
    usage.take_in()
    usage.close()

    assert (tmp_path / "usage.db").stat().st_mode & 0o077 == 0
    assert b"own name" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


def test_a_purged_note_leaves_nothing(tmp_path: Path, usage: Usage) -> None:
    record(tmp_path, "opened", ["01PURGED", "01KEPT"])
    usage.take_in()
    record(tmp_path, "opened", ["01PURGED"])

    usage.forget(["01PURGED"])
    assert usage.erase()
    usage.close()

    assert b"01PURGED" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert usage.every().keys() == {"01KEPT"}


def test_a_use_that_is_recorded_while_its_note_is_purged_is_not_counted(tmp_path: Path, usage: Usage) -> None:
    bury(tmp_path, "01PURGED")
    record(tmp_path, "opened", ["01PURGED", "01KEPT"])
    usage.take_in()

    assert usage.every().keys() == {"01KEPT"}


def test_a_damaged_database_is_moved_aside(tmp_path: Path, usage: Usage) -> None:
    (tmp_path / "usage.db").write_bytes(b"no database" * 100)
    record(tmp_path, "opened", ["a"])

    usage.take_in()
    assert usage.of(["a"])["a"].use.uses == 1
    assert (tmp_path / "usage.db.damaged").exists()


def test_the_record_is_bounded(tmp_path: Path, usage: Usage) -> None:
    usage.change(
        lambda db: db.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)"
            " INSERT INTO events SELECT 'n' || i, '', 'opened', 0, i FROM n"
        )
    )
    usage.change(
        lambda db: db.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 110000)"
            " INSERT INTO notes (note_id, last) SELECT 'n' || i, i FROM n"
        )
    )
    record(tmp_path, "opened", ["new"])
    usage.take_in()

    counts = usage.read(lambda db: db.execute("SELECT (SELECT count(*) FROM notes), (SELECT count(*) FROM events)"))
    assert counts
    assert [count <= most for count, most in zip(counts.fetchone(), (100_001, 50_001), strict=True)] == [True, True]
    assert "new" in usage.of(["new"])


def test_lines_count_once_wherever_whoever_counts_them_is_killed(tmp_path: Path) -> None:
    """Even if the events that identify an already counted line are forgotten."""
    for number in itertools.count(1):
        ids = [f"{number}-{each}" for each in range(4)]
        for id in ids:
            record(tmp_path, "opened", [id], "s")
            with (tmp_path / "usage.jsonl").open("ab") as file:
                file.write(b"x" * 20_000 + b"\n")  # the next line is counted in another transaction
        is_killed = wait_for(fork(lambda: _take_in(tmp_path), number))
        with contextlib.closing(Usage(tmp_path)) as usage:
            usage.change(lambda db: db.execute("DELETE FROM events"))
            usage.take_in()
            assert {id: totals.counts for id, totals in usage.of(ids).items()} == {id: {"opened": 1} for id in ids}
        if not is_killed:
            break
    assert number > 30
    assert not list(tmp_path.glob("usage.jsonl*"))


def _take_in(root: Path) -> None:
    Usage(root).take_in()


def _write_many(root: Path, name: str) -> None:
    for number in range(200):
        record(root, "opened", [f"{name}-{number}"], name)
        if number % 3 == 0:
            Usage(root).take_in()


def test_processes_that_write_and_read_at_once_lose_nothing(tmp_path: Path, usage: Usage) -> None:
    writers = [multiprocessing.get_context("spawn").Process(target=_write_many, args=(tmp_path, n)) for n in "abc"]
    for each in writers:
        each.start()
    for each in writers:
        each.join()

    usage.take_in()
    assert {totals.counts["opened"] for totals in usage.every().values()} == {1}
    assert len(usage.every()) == 600


def test_a_search_reads_the_use_of_its_candidates_once_and_writes_nothing(tmp_path: Path) -> None:
    with MemoryStore(tmp_path) as store:
        notes = [store.write(type="semantic", title="Lock", body="busy timeout of sqlite") for _ in range(12)]
        record(tmp_path, "opened", [notes[0].id], "one")
        store.usage.take_in()
        record(tmp_path, "opened", [notes[1].id], "one")
        lines = (tmp_path / "usage.jsonl").read_bytes()
        statements: list[str] = []
        store.usage.read(lambda db: db.set_trace_callback(statements.append))
        hits = store.hits("busy timeout", k=12, explain=True)

        assert [statement.split()[0] for statement in statements] == ["SELECT"]
        assert (tmp_path / "usage.jsonl").read_bytes() == lines
        used = {hit.memory.id: hit.why.use for hit in hits if hit.why and hit.why.use}
        assert used == {notes[0].id: {"strength": pytest.approx(1.0, abs=0.01), "uses": 1, "sessions": 1}}
        assert hits[0].memory.id == notes[0].id
        assert hits[0].why
        assert hits[0].why.parts["strong"] > 0


def test_a_rebuilt_index_leaves_the_record_alone(tmp_path: Path) -> None:
    with MemoryStore(tmp_path) as store:
        note = store.write(type="semantic", title="t", body="b")
        record(tmp_path, "opened", [note.id], "one")
        store.usage.take_in()
        store.reindex()
        assert store.usage.of([note.id])[note.id].counts == {"opened": 1}


class TestStrength:
    def test_what_is_not_used_fades_and_a_use_revives_it(self) -> None:
        use = Use().changed(1.0)
        assert use.strength(1.0) == 1.0
        assert use.strength(10 * DAY) > use.strength(100 * DAY) > 0.1
        assert use.after("opened", 100 * DAY, in_new_session=True).strength(110 * DAY) > use.strength(110 * DAY)

    def test_a_note_of_many_sessions_fades_more_slowly_than_one_used_often_in_a_day(self) -> None:
        spread = often = Use().changed(1.0)
        for number in range(1, 6):
            spread = spread.after("found", number * 7 * DAY, in_new_session=True)
            often = often.after("found", 35 * DAY + number, in_new_session=number == 1)

        assert spread.stability > 1.5 * often.stability
        assert spread.strength(200 * DAY) > often.strength(200 * DAY)

    @given(st.lists(st.tuples(st.sampled_from(KINDS), st.floats(0, 4000), st.booleans())), st.floats(0, 10_000))
    def test_everything_stays_in_reveries_ranges(self, events: list[tuple[Kind, float, bool]], days: float) -> None:
        use = Use()
        for kind, day, is_new in events:
            use = use.after(kind, day * DAY, in_new_session=is_new)

        assert 1.0 <= use.stability <= 365.0
        assert 0.01 <= use.strength(days * DAY) <= 1.0
        assert 0.0 <= use.staleness(days * DAY) <= 1.0

    def test_to_be_injected_strengthens_nothing(self) -> None:
        assert Use().after("injected", 5.0, in_new_session=True) == Use()
