"""What a daemon does of a write before it answers, and what it leaves for later, by whomever."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from tests.bridge.memory import Two, connected
from tests.killing import fork, wait_for

from anamnesis.bridge import journal
from anamnesis.engram import database, observations
from anamnesis.engram.observations import NewObservation
from anamnesis.engram.shared import Shared
from anamnesis.notes import parse
from anamnesis.notes.merge import conflict_of
from anamnesis.store import MemoryStore, files, writing


def follow(two: Two) -> None:
    two.bridge.follow_rows(0, hastily=True)


def remembered(two: Two) -> int:
    (count,) = two.db.execute("SELECT count(*) FROM anamnesis_twins").fetchone()
    return int(count)


def test_a_note_is_there_before_the_disk_has_it_and_is_remembered_after(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    for module in (files, writing):
        monkeypatch.setattr(module, "sync_files", lambda paths: synced.extend(path.name for path in paths))
    two.add("Title", "a queue")
    follow(two)
    [note] = two.store.search("queue")
    assert (synced, remembered(two), len(journal.changed(two.db))) == ([], 0, 1)
    two.bridge.finish()
    assert (synced, remembered(two), len(journal.changed(two.db))) == ([f"{note.id}.md"], 1, 0)
    two.agree()


def test_what_waits_is_finished_before_anybody_is_told_how_things_stand(two: Two) -> None:
    two.add()
    follow(two)
    assert two.bridge.state().waiting.total == 0
    two.add("Other")
    follow(two)
    assert two.bridge.drift() == 0
    assert remembered(two) == 2


def test_many_are_not_left_for_later(two: Two) -> None:
    for number in range(40):
        two.add(f"Title {number}", f"content {number}")
        two.bridge.follow_rows(two.bridge.last_change() - 1, hastily=True)
        assert number - remembered(two) < 16
    for number in range(5):
        two.add(f"At once {number}", f"more {number}")
    follow(two)
    assert remembered(two) == 45


@pytest.mark.parametrize("through", ["engram", "an editor", "both"])
def test_what_changes_before_it_is_remembered_is_one_note_without_a_conflict(two: Two, through: str) -> None:
    id = two.add("Title", "first line\nsecond line\nthird line")
    follow(two)
    if through != "an editor":
        observations.update(two.db, id, {"content": "first line, changed\nsecond line\nthird line"})
    if through != "engram":
        file = two.file_of("Title")
        file.write_text(file.read_text("utf-8").replace("third line", "third line, changed"), "utf-8")
    follow(two)
    two.agree()
    [note] = two.notes()
    assert not conflict_of(note)
    assert ("first line, changed" in note.body, "third line, changed" in note.body) == (
        through != "an editor",
        through != "engram",
    )


@pytest.mark.parametrize("before", ["nothing", "a change", "a deletion", "a repetition"])
def test_an_observation_that_goes_before_its_note_is_remembered_takes_it_along(two: Two, before: str) -> None:
    id = two.add()
    follow(two)
    if before == "a change":
        observations.update(two.db, id, {"content": "changed"})
    elif before == "a deletion":
        observations.delete(two.db, id)
    elif before == "a repetition":
        assert two.add() == id
    two.db.execute("DELETE FROM observations")
    follow(two)
    assert two.notes() == []
    two.agree()
    assert (two.notes(), two.rows()) == ([], [])
    assert two.db.execute("SELECT count(*) FROM anamnesis_revisions").fetchone() == (0,)


def test_a_note_that_was_edited_outlives_an_observation_that_went_before_it_was_remembered(two: Two) -> None:
    id = two.add("Title", "content")
    follow(two)
    file = two.file_of("Title")
    file.write_text(file.read_text("utf-8").replace("content", "edited"), "utf-8")
    observations.delete(two.db, id, hard=True)
    follow(two)
    two.agree()
    assert [row.content for row in two.rows()] == ["edited"]


def test_who_comes_next_remembers_what_a_killed_process_left(two: Two) -> None:
    number = 1
    two.bridge.close()
    two.store.close()

    def write() -> None:
        with connected(two.store.root, two.path) as store:
            store.follow_writes()

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


def test_two_who_take_the_same_over_in_haste_make_one_note(two: Two, tmp_path: Path) -> None:
    two.add()
    follow(two)
    with connected(two.store.root, two.path, "there") as other:
        other.reconcile()
        [note] = other.list()
        other.update(note.id, tags=["by the other"])
    two.bridge.finish()
    two.agree()
    [note] = two.notes()
    assert note.tags == ["by the other"]
    assert two.bridge.drift() == 0


def test_a_note_that_the_disk_lost_is_written_again(two: Two) -> None:
    """After a power cut: the observation is there, its note was in the index only."""
    two.add("Title", "content")
    follow(two)
    with MemoryStore(two.store.root) as store:
        [note] = store.list()
    two.file_of("Title").unlink()
    two.bridge._reconciliation._unfinished.rows.clear()  # whoever had it in mind has gone too
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
        assert [note.title for note in store.search("mine")] == ["Mine"]
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
        assert len(store.search("mine", k=1000)) == 450


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
