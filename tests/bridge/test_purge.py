"""What is deleted for good is gone on both sides, with all its versions, and stays gone."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from tests.bridge.memory import Two, connected
from tests.bridge.test_doors import anamnesis, daemon, post, save
from tests.engram_cli.program import Program
from tests.killing import fork, wait_for
from tests.remains import BODY, REVISED, TITLE, holding
from tests.waiting import wait_until
from tests.web.daemon import Daemon

from anamnesis.bridge.purging import erase
from anamnesis.engram import exchange, observations
from anamnesis.engram.database import connect, prepare
from anamnesis.store import MemoryStore
from anamnesis.store.tombstones import is_purged

__all__ = ["daemon"]


def deleted_note(two: Two) -> tuple[int, str]:
    """An observation of several versions, whose note was deleted on our side: its row is marked, the file is trash."""
    id = two.add(f"About {TITLE}", f"It says {BODY}.")
    two.agree()
    observations.update(two.db, id, {"content": f"It says {REVISED}."})
    two.agree()
    [note] = [note for note in two.notes() if TITLE in note.title]
    two.store.delete(note.id)
    two.agree()
    return id, note.id


def test_a_hard_delete_removes_a_row_that_was_marked_as_deleted_and_all_that_was_kept_of_it(two: Two) -> None:
    other = two.add("Other", "another text")
    id, note_id = deleted_note(two)
    assert observations.delete(two.db, id, hard=True)
    two.agree()
    assert [row.id for row in two.rows()] == [other]
    assert two.store.trashed() == []
    assert is_purged(two.store.root, note_id)
    queued = two.db.execute("SELECT op, payload FROM sync_mutations ORDER BY seq").fetchall()
    assert not any(word in payload for _, payload in queued for word in (TITLE, BODY, REVISED))
    assert json.loads(queued[-1][1])["hard_delete"] is True
    assert erase(two.store, two.path)
    assert holding(two.store.root, two.path.parent) == {}


def test_the_words_leave_the_tables_at_once_and_the_files_by_the_erasure(two: Two) -> None:
    id, _ = deleted_note(two)
    observations.delete(two.db, id, hard=True)
    two.agree()
    for (table,) in two.db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        if not table.endswith(("_data", "_idx")):  # an index of words, until its segments are merged
            text = str(two.db.execute(f"SELECT * FROM {table}").fetchall())
            assert not any(word in text for word in (TITLE, BODY, REVISED)), table
    assert erase(two.store, two.path)
    assert holding(two.store.root, two.path.parent) == {}


def test_a_reader_puts_the_erasure_off_and_nothing_fails(two: Two) -> None:
    id, _ = deleted_note(two)
    with closing(connect(two.path)) as reader:
        reader.execute("PRAGMA busy_timeout = 0")
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM observations").fetchone()
        observations.delete(two.db, id, hard=True)
        two.agree()
        assert not erase(two.store, two.path)
        reader.execute("ROLLBACK")
    assert erase(two.store, two.path)
    assert holding(two.store.root, two.path.parent) == {}


def test_a_strict_hard_delete_is_engrams_own(two: Two) -> None:
    id, _ = deleted_note(two)
    assert not observations.delete(two.db, id, hard=True, strict=True)
    assert [row.id for row in two.rows()] == [id]
    other = two.add("Other", "another text")
    assert observations.delete(two.db, other, hard=True, strict=True)
    assert two.db.execute("SELECT count(*) FROM sync_mutations WHERE payload LIKE '%another text%'").fetchone() == (1,)


def test_an_edited_note_outlives_a_hard_delete_with_what_the_trash_has_of_it(two: Two) -> None:
    """Of a deletion and an edit, the edit stays."""
    id = two.add()
    two.agree()
    note_id = two.notes()[0].id
    two.store.update(note_id, body="edited")
    observations.delete(two.db, id, hard=True)
    two.agree()
    assert [note.body for note in two.notes()] == ["edited"]
    assert not is_purged(two.store.root, note_id)


def test_an_observation_that_is_imported_again_comes_back_with_its_note(two: Two) -> None:
    id, note_id = deleted_note(two)
    exported = exchange.export(two.db)
    observations.delete(two.db, id, hard=True)
    two.agree()
    exchange.import_(two.db, exported)
    two.db.execute("UPDATE observations SET deleted_at = NULL")
    two.agree()
    assert [note.id for note in two.notes()] == [note_id]
    assert not is_purged(two.store.root, note_id)


def test_a_purge_that_was_killed_at_any_moment_is_finished_by_the_next_and_harms_no_other_note(tmp_path: Path) -> None:
    """And meanwhile the note is whole, or it is gone; the bridge makes no new one of what is left."""
    number, is_killed = 1, True
    while is_killed:
        root, path = tmp_path / str(number), tmp_path / str(number) / "engram.db"
        root.mkdir()
        prepare(path)
        with connected(root, path) as store:
            other = store.write(type="semantic", title="Other", body="another text")
            note = store.write(type="semantic", title=TITLE, body=BODY)
            store.update(note.id, body=f"{BODY} {REVISED}")

        def work(root: Path = root, path: Path = path, note_id: str = note.id) -> None:
            with connected(root, path) as store:
                store.purge(note_id)
                store.erase()

        is_killed = wait_for(fork(work, number))
        with connected(root, path) as store, closing(connect(path)) as db:
            assert store.bridge
            store.bridge.mark_all_pending()
            store.reconcile()
            left, rows = (
                store.notes.find(note.id),
                db.execute("SELECT title, content FROM observations ORDER BY id").fetchall(),
            )
            assert rows[0] == ("Other", "another text")
            assert rows[1:] == ([(TITLE, f"{BODY} {REVISED}")] if left else [])
            assert left is None or left.body == f"{BODY} {REVISED}"
            assert store.get(other.id).body == "another text"
            store.purge(note.id)
            assert store.erase()
        assert holding(root) == {}
        number += 3


def test_a_hard_delete_over_http_is_erased_when_the_daemon_stops(daemon: Daemon) -> None:
    id = save(daemon, f"About {TITLE}", f"It says {BODY}.")
    daemon.ask("PATCH", f"/observations/{id}", json.dumps({"content": f"It says {REVISED}."}))
    kept = save(daemon, "Other", "another text")
    daemon.ask("DELETE", f"/observations/{id}")
    reply = daemon.ask("DELETE", f"/observations/{id}?hard=true")
    assert (reply.status, reply.text) == (200, f'{{"hard_delete":true,"id":{id},"status":"deleted"}}\n')
    assert [each["id"] for each in json.loads(daemon.ask("GET", "/export").body)["observations"]] == [kept]
    assert not [*daemon.home.rglob("trash/**/*.md")]
    daemon.stop()
    assert holding(daemon.home) == {}


def test_a_hard_delete_over_http_is_erased_when_the_daemon_rests(daemon: Daemon) -> None:
    id = save(daemon, f"About {TITLE}", f"It says {BODY}.")
    daemon.ask("DELETE", f"/observations/{id}?hard=true")
    wait_until(lambda: holding(daemon.home) == {})
    assert daemon.ask("GET", f"/observations/{id}").status == 404


def test_a_purge_beside_a_daemon_leaves_nothing_in_its_files(daemon: Daemon) -> None:
    save(daemon, "Other", "another text")
    id = save(daemon, f"About {TITLE}", f"It says {BODY}.")
    daemon.ask("PATCH", f"/observations/{id}", json.dumps({"content": f"It says {REVISED}."}))
    with MemoryStore(daemon.home) as store:
        [note] = store.search(REVISED)
    assert json.loads(anamnesis(daemon.home, "delete", "--purge", "--yes", "--json", note.id))["is_erased"]
    assert holding(daemon.home) == {}
    assert daemon.ask("GET", f"/observations/{id}").status == 404
    assert post(daemon, "/observations", session_id="s1", title="New", content="a new text", type="decision")["id"] > id


@pytest.mark.parametrize("strict", ["1", ""])
def test_strict_is_asked_for_by_the_variable(tmp_path: Path, strict: str) -> None:
    running = Daemon(tmp_path / "home", ANAMNESIS_ENGRAM_STRICT=strict)
    try:
        id = save(running, "Title", "text")
        running.ask("DELETE", f"/observations/{id}")
        running.ask("DELETE", f"/observations/{id}?hard=true")
        left = json.loads(running.ask("GET", "/export").body)["observations"] or []
        assert [each["id"] for each in left] == ([id] if strict else [])
    finally:
        running.stop()


def test_a_hard_delete_by_a_tool_is_erased_when_the_session_ends(tmp_path: Path) -> None:
    program = Program(tmp_path)
    with program.mcp("--project=shop") as tools:
        tools.text("mem_save", title=f"About {TITLE}", content=f"It says {BODY}.")
        tools.text("mem_update", id=1, content=f"It says {REVISED}.")
        tools.text("mem_save", title="Other", content="another text")
        tools.text("mem_delete", id=1)
        assert tools.text("mem_delete", id=1, hard_delete=True) == "Memory #1 permanently deleted"
    assert holding(tmp_path) == {}
    assert "another text" in program("search", "another").out
