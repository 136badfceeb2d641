"""What a daemon reconciles before it answers a write, and what becomes of a reconciliation that was interrupted."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest
from tests.bridge.memory import Two, connected
from tests.killing import fork, wait_for

from anamnesis.bridge import bridge as bridging
from anamnesis.bridge import journal
from anamnesis.disk import exchange
from anamnesis.engram import database, observations
from anamnesis.engram.observations import NewObservation
from anamnesis.engram.shared import Shared
from anamnesis.notes import Memory, parse
from anamnesis.notes.merge import conflict_of
from anamnesis.store import MemoryStore


def follow_interrupted(two: Two) -> None:
    """The state that a process leaves which is killed between writing notes and saving that they agree."""
    two.bridge.follow_rows(0)
    two.db.execute("DELETE FROM anamnesis_twins")
    two.db.execute("INSERT INTO anamnesis_changes (observation_id) SELECT id FROM observations")


@pytest.fixture(autouse=True)
def slow_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, notes wait for their agreements until a test flushes them."""
    monkeypatch.setattr(bridging, "_LONGEST_HOLD", 60.0)


@contextlib.contextmanager
def recorded(two: Two, disk: threading.Event | None = None) -> Iterator[list[str]]:
    """What is done in which order: files renamed and synced, and agreements saved.

    The bridge's thread for the disk waits with its first fsync until the event `disk` is set.
    """
    done: list[str] = []

    def record(frame: FrameType, event: str, called: Any) -> None:
        if event == "call" and frame.f_code is exchange.__code__:
            done.append("replace")
        if event == "c_call" and called in (os.fsync, os.replace):
            if disk and threading.current_thread().name.startswith("disk"):
                disk.wait(60)
            done.append(called.__name__)

    two.bridge._db.set_trace_callback(lambda sql: done.append("agree") if "INTO anamnesis_twins" in sql else None)
    threading.setprofile(record)
    sys.setprofile(record)
    try:
        yield done
        if disk:
            disk.set()
        two.bridge.flush()
    finally:
        if disk:
            disk.set()
        sys.setprofile(None)
        threading.setprofile(None)
        two.bridge._db.set_trace_callback(None)


def steps_of(two: Two, work: Callable[[list[str]], object]) -> list[str]:
    with recorded(two) as done:
        work(done)
    return done


def test_a_note_is_on_the_disk_before_it_is_saved_that_it_agrees(two: Two) -> None:
    """Otherwise a note that a power failure lost would pass for one that its user deleted."""
    two.add()
    assert steps_of(two, lambda _: two.bridge.follow_rows(0)) == ["fsync", "replace", "fsync", "agree"]
    two.agree()


def test_a_client_does_not_wait_for_the_disk_that_holds_the_note_of_its_observation(two: Two) -> None:
    two.add("Title", "a queue")
    found: list[Memory] = []
    client = threading.Thread(target=lambda: found.extend(two.store.search("queue")))

    def answer(done: list[str]) -> None:
        done.append("answer")
        client.start()

    steps = steps_of(two, lambda done: two.bridge.follow_rows(0, answer=lambda: answer(done)))
    client.join()
    assert steps == ["replace", "answer", "fsync", "fsync", "agree"]
    assert [note.title for note in found] == ["Title"]
    assert journal.changed(two.db) == {}
    two.agree()


def test_a_client_does_not_wait_for_the_disk_that_holds_the_note_of_an_earlier_observation(two: Two) -> None:
    disk = threading.Event()
    with recorded(two, disk) as done:
        since = 0
        for title in ("first", "second", "third"):
            two.add(title, title)
            since, _ = two.bridge.follow_rows(since, answer=lambda: done.append("answer"))
        assert done == ["replace", "answer"] * 3
        assert len(journal.changed(two.db)) == 3
    assert done[-3:] == ["agree"] * 3
    assert "fsync" in done
    two.agree()


def test_answered_notes_do_not_wait_for_their_agreements_for_long(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process, which waits for the lock, has its turn even if clients write without a pause."""
    monkeypatch.setattr(bridging, "_LONGEST_HOLD", 0.0)
    two.add()
    two.bridge.follow_rows(0, answer=lambda: None)
    assert journal.changed(two.db) == {}
    with connected(two.store.root, two.path, "there") as other:
        assert other.reconcile() == 0


Meanwhile = Callable[[Two, int], object]


def changed(two: Two, id: int) -> None:
    observations.update(two.db, id, {"content": "changed"})


def edited(two: Two, _: int) -> None:
    file = two.file_of("Title")
    file.write_text(file.read_text("utf-8").replace("content", "changed"), "utf-8")
    two.store.refresh()


def removed(two: Two, id: int) -> None:
    observations.delete(two.db, id, hard=True)


def deleted(two: Two, _: int) -> None:
    two.file_of("Title").unlink()


def flushed_beside_another_process(two: Two, disk: threading.Event) -> None:
    """Let another process reconcile while notes wait for the disk: it waits for their agreements."""
    is_done = threading.Event()

    def reconcile() -> None:
        with connected(two.store.root, two.path, "there") as other:
            other.reconcile()
        is_done.set()

    thread = threading.Thread(target=reconcile)
    thread.start()
    assert not is_done.wait(0.1)
    disk.set()
    two.bridge.flush()
    thread.join()


@pytest.mark.parametrize("by", ["the same process", "another process"])
@pytest.mark.parametrize("change", [changed, edited, removed, deleted])
def test_what_changes_while_its_note_is_flushed_is_found(two: Two, change: Meanwhile, by: str) -> None:
    disk = threading.Event()
    with recorded(two, disk):
        id = two.add()
        since, _ = two.bridge.follow_rows(0, answer=lambda: None)
        change(two, id)
        if by == "another process":
            flushed_beside_another_process(two, disk)
        disk.set()
        two.bridge.follow_rows(since, answer=lambda: None)
    two.agree()
    notes = [(note.body, conflict_of(note)) for note in two.notes()]
    rows = [(row.content, bool(row.deleted_at)) for row in two.rows()]
    if change is deleted:
        assert (notes, rows) == ([], [("content", True)])
    elif change is removed:
        assert (notes, rows) == ([], [])
    else:
        assert (notes, rows) == ([("changed", "")], [("changed", False)])


def test_an_observation_with_the_sync_id_of_one_whose_note_is_flushed_has_its_own_note(two: Two) -> None:
    disk = threading.Event()
    with recorded(two, disk):
        id = two.add("Title", "first")
        since, _ = two.bridge.follow_rows(0, answer=lambda: None)
        other = two.add("Other", "second")
        two.db.execute("UPDATE observations SET sync_id = ? WHERE id = ?", (two.row(id).sync_id, other))
        disk.set()
        two.bridge.follow_rows(since, answer=lambda: None)
    two.agree()
    assert sorted(note.body for note in two.notes()) == ["first", "second"]


def test_a_note_that_is_written_while_others_are_flushed_becomes_an_observation(two: Two) -> None:
    with recorded(two) as done:
        two.add("Title", "first")
        two.bridge.follow_rows(0, answer=lambda: done.append("answer"))
        two.store.write(type="semantic", title="Note", body="second")
        two.bridge.follow()
        assert done.count("agree") == 2
    two.agree()
    assert sorted(row.content for row in two.rows()) == ["first", "second"]


def test_a_note_that_cannot_be_flushed_stays_pending(two: Two) -> None:
    disk = threading.Event()
    with recorded(two, disk):
        id = two.add()
        two.bridge.follow_rows(0, answer=lambda: None)
        folder = two.file_of("Title").parent
        folder.rename(two.store.root / "away")
    assert [*journal.changed(two.db)] == [id]
    assert "bridge failed" in (two.store.root / "anamnesis.log").read_text("utf-8")
    (two.store.root / "away").rename(folder)
    two.agree()
    assert [(row.title, row.deleted_at) for row in two.rows()] == [("Title", None)]


def test_a_note_that_a_killed_process_did_not_flush_is_flushed_before_it_is_saved_that_it_agrees(two: Two) -> None:
    two.add()
    follow_interrupted(two)
    assert steps_of(two, lambda _: two.bridge.follow_rows(0)) == ["fsync", "fsync", "agree"]


def test_a_new_version_of_a_note_is_on_the_disk_before_it_takes_the_place_of_the_former(two: Two) -> None:
    id = two.add()
    two.agree()
    observations.update(two.db, id, {"content": "changed"})
    steps = steps_of(two, lambda done: two.bridge.follow_rows(0, answer=lambda: done.append("answer")))
    assert steps == ["fsync", "replace", "fsync", "answer", "agree"]
    two.agree()


def test_what_changes_before_it_is_remembered_is_one_note_without_a_conflict(two: Two) -> None:
    id = two.add("Title", "first line\nsecond line")
    follow_interrupted(two)
    observations.update(two.db, id, {"content": "first line, changed\nsecond line"})
    two.bridge.follow_rows(0)
    two.agree()
    [note] = two.notes()
    assert not conflict_of(note)
    assert note.body == "first line, changed\nsecond line"


@pytest.mark.parametrize("before", ["nothing", "a change", "a deletion", "a repetition"])
def test_an_observation_that_goes_before_its_note_is_remembered_takes_it_along(two: Two, before: str) -> None:
    id = two.add()
    follow_interrupted(two)
    if before == "a change":
        observations.update(two.db, id, {"content": "changed"})
    elif before == "a deletion":
        observations.delete(two.db, id)
    elif before == "a repetition":
        assert two.add() == id
    two.db.execute("DELETE FROM observations")
    two.bridge.follow_rows(0)
    assert two.notes() == []
    two.agree()
    assert (two.notes(), two.rows()) == ([], [])
    assert two.db.execute("SELECT count(*) FROM anamnesis_revisions").fetchone() == (0,)


def test_a_note_that_was_edited_outlives_an_observation_that_went_before_it_was_remembered(two: Two) -> None:
    id = two.add("Title", "content")
    follow_interrupted(two)
    file = two.file_of("Title")
    file.write_text(file.read_text("utf-8").replace("content", "edited"), "utf-8")
    observations.delete(two.db, id, hard=True)
    two.bridge.follow_rows(0)
    two.agree()
    assert [row.content for row in two.rows()] == ["edited"]


@pytest.mark.parametrize("answer", [None, bool], ids=["flushed first", "answered first"])
def test_who_comes_next_remembers_what_a_killed_process_left(two: Two, answer: Callable[[], object] | None) -> None:
    number = 1
    two.bridge.close()
    two.store.close()

    def write() -> None:
        with connected(two.store.root, two.path) as store:
            store.follow_writes(answer)
            store.flush()

    is_killed = True
    while is_killed:
        two.add(f"Title {number}", f"content {number}")
        is_killed = wait_for(fork(write, number))
        with contextlib.closing(two.db.execute("SELECT max(id) FROM observations")) as last:
            observations.update(two.db, last.fetchone()[0], {"content": f"changed {number}"})
        two.reopen()
        two.agree()
        two.bridge.close()
        two.store.close()
        number += 7
    assert not [note for note in two.notes() if conflict_of(note)]
    assert len(two.notes()) == len(two.rows())


def test_a_note_that_the_disk_lost_is_written_again(two: Two) -> None:
    """After a power cut: the observation is there, its note was in the index only."""
    two.add("Title", "content")
    follow_interrupted(two)
    with MemoryStore(two.store.root) as store:
        [note] = store.list()
    two.file_of("Title").unlink()
    two.reopen()
    two.agree()
    assert [each.id for each in two.notes()] == [note.id]
    assert [row.deleted_at for row in two.rows()] == [None]
    assert parse(two.file_of("Title").read_text("utf-8")).body == "content"


def noted_down_by_another(two: Two, count: int) -> None:
    """Many observations, each of which another process has just noted down."""
    with database.writing(two.db):
        for number in range(count):
            two.add(f"Title {number}", f"content {number}")
    two.agree()
    with connected(two.store.root, two.path, "there") as other:
        assert other.bridge
        other.bridge.mark_all_pending()


def test_an_answer_does_not_wait_for_what_others_noted_down(two: Two) -> None:
    with contextlib.closing(Shared(two.path)) as shared, connected(two.store.root, shared) as store:
        noted_down_by_another(two, 450)
        observations.add(shared.db, NewObservation("s1", "Mine", "mine"))
        assert not store.follow_writes()
        assert len(journal.changed(two.db)) >= 200
        assert [note.title for note in store.search("mine", mode="words")] == ["Mine"]
        store.reconcile()
        assert store.follow_writes()
        assert journal.changed(two.db) == {}


def test_everything_that_one_write_made_is_there_before_its_answer(two: Two) -> None:
    with contextlib.closing(Shared(two.path)) as shared, connected(two.store.root, shared) as store:
        noted_down_by_another(two, 300)
        with database.writing(shared.db):
            for number in range(450):
                observations.add(shared.db, NewObservation("s1", f"Mine {number}", f"mine {number}"))
        store.follow_writes()
        assert len(store.search("mine", k=1000, mode="words")) == 450


def test_many_changes_of_one_observation_are_one(two: Two) -> None:
    id = two.add()
    for number in range(10):
        observations.update(two.db, id, {"content": f"content {number}"})
    assert journal.changed(two.db, limit=5).keys() == {id}
    other = two.add("Other", "other")
    assert [*journal.changed(two.db, limit=1)] == [other]
    assert [*journal.changed(two.db, limit=2)] == [other, id]
    assert two.bridge.follow(most=3)
    two.agree()
