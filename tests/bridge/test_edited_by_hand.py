"""What a person writes into the fields of a note that are Engram's is that of both sides, and nothing is lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.bridge.memory import Two

from anamnesis.engram import chunks, exchange, observations
from anamnesis.engram.observations import NewObservation
from anamnesis.history.restoring import restore
from anamnesis.history.revisions import revisions
from anamnesis.notes import Memory, parse, render
from anamnesis.store.shared_notes import Shared

TOPIC = "decision/cart"


def copy(two: Two, title: str, id: str = "copy") -> Path:
    """Copy a note's file as a template, as a person does: another id, a title of its own."""
    file = two.file_of(title)
    note = replace(parse(file.read_text("utf-8")), id=id, title=f"{title}, copied")
    path = file.with_name(f"{id}.md")
    path.write_text(render(note), "utf-8")
    return path


def note(two: Two, title: str) -> Memory:
    [found] = [each for each in two.notes() if each.title == title]
    return found


def test_the_copy_of_a_file_is_an_observation_of_its_own_to_every_importer(two: Two, tmp_path: Path) -> None:
    two.add(content="one", topic_key=TOPIC)
    two.agree()
    copy(two, "Title")
    two.agree()
    assert len({row.sync_id for row in two.rows()}) == 2
    assert note(two, "Title, copied").engram.keys().isdisjoint({"sync_id", "topic_key"})
    assert chunks.export(two.db, tmp_path / ".engram", "me", None)
    assert [row.topic_key for row in two.rows()] == [TOPIC, None]
    two.db.execute("DELETE FROM observations")
    two.db.execute("DELETE FROM sync_chunks")
    chunks.import_(two.db, tmp_path / ".engram")
    assert {row.title for row in two.rows()} == {"Title", "Title, copied"}


def test_a_note_whose_id_was_changed_by_hand_keeps_its_topic_and_gets_a_sync_id(two: Two) -> None:
    id = two.add(content="one", topic_key=TOPIC)
    two.agree()
    before = two.row(id)
    copy(two, "Title")
    two.file_of("Title").unlink()
    two.agree()
    [live] = [row for row in two.rows() if not row.deleted_at]
    assert (live.title, live.topic_key) == ("Title, copied", TOPIC)
    assert live.sync_id != before.sync_id


def test_copies_from_an_earlier_release_are_separated_by_comparing_everything(two: Two) -> None:
    two.add(content="one")
    two.agree()
    copy(two, "Title")
    two.agree()
    [first, second] = two.rows()
    two.db.execute("UPDATE observations SET sync_id = ? WHERE id = ?", (first.sync_id, second.id))
    two.bridge.mark_all_pending()
    two.agree()
    assert len({row.sync_id for row in two.rows()}) == 2
    assert two.row(first.id).sync_id == first.sync_id


def test_two_observations_of_one_sync_id_both_arrive_elsewhere(two: Two) -> None:
    """As after an import by Engram's own program, twice."""
    for number in range(2):
        id = two.add(f"Title {number}", f"text {number}")
        two.db.execute("UPDATE observations SET sync_id = 'obs-00000000000000aa' WHERE id = ?", (id,))
    two.agree()
    exported = exchange.export(two.db)
    assert {each.title for each in exported.observations} == {"Title 0", "Title 1"}
    assert len({each.sync_id for each in exported.observations}) == 2


@pytest.mark.parametrize(("given", "wanted"), [("bugfix", "procedural"), ("session_summary", "episodic")])
def test_a_type_of_engram_written_by_hand_is_that_of_both_sides(two: Two, given: str, wanted: str) -> None:
    id = two.add(type="decision")
    two.agree()
    file = two.file_of("Title")
    file.write_text(file.read_text("utf-8").replace("  type: decision\n", f"  type: {given}\n"), "utf-8")
    two.agree()
    assert two.row(id).type == given
    assert (note(two, "Title").type, two.file_of("Title").parent.name) == (wanted, wanted)


def test_a_new_type_of_the_note_is_that_of_both_sides(two: Two) -> None:
    by_command, by_hand = two.add("By command", "a", type="decision"), two.add("By hand", "b", type="decision")
    two.agree()
    two.store.update(note(two, "By command").id, type="procedural")
    file = two.file_of("By hand")
    file.write_text(file.read_text("utf-8").replace("\ntype: semantic\n", "\ntype: episodic\n"), "utf-8")
    two.agree()
    assert [two.row(id).type for id in (by_command, by_hand)] == ["procedural", "episodic"]
    assert [each.engram.get("type") for each in two.notes()] == [None, None]


def test_a_topic_key_written_by_hand_is_found_by_the_next_upsert(two: Two) -> None:
    id = two.add()
    two.agree()
    file = two.file_of("Title")
    file.write_text(file.read_text("utf-8").replace("engram:\n", "engram:\n  topic_key: Decision/My Cart\n"), "utf-8")
    two.agree()
    assert two.row(id).topic_key == note(two, "Title").engram["topic_key"] == "decision/my-cart"
    again = observations.add(two.db, NewObservation("s1", "Title", "new", topic_key="Decision/My Cart"))
    assert (again.id, again.outcome) == (id, "revised")


def test_an_older_version_that_is_restored_is_the_same_observation_elsewhere(two: Two) -> None:
    id = two.add(content="one")
    two.agree()
    sync_id = two.row(id).sync_id
    observations.update(two.db, id, {"content": "two"})
    two.agree()
    versions = revisions(two.store, note(two, "Title").id, two.path)
    restore(two.store, versions, 1)
    two.agree()
    assert [(row.content, row.sync_id) for row in two.rows()] == [("one", sync_id)]
    assert note(two, "Title").engram["sync_id"] == sync_id


@pytest.mark.parametrize("is_deleted_in_engram", [True, False])
def test_a_restored_note_leaves_its_topic_to_the_one_that_has_it(two: Two, is_deleted_in_engram: bool) -> None:
    old = two.add("Old", "old", topic_key=TOPIC)
    two.agree()
    old_note = note(two, "Old")
    if is_deleted_in_engram:
        observations.delete(two.db, old)
    else:
        two.store.delete(old_note.id)
    two.agree()
    new = two.add("New", "new", topic_key=TOPIC)
    assert new != old
    two.agree()
    two.store.restore(old_note.id)
    two.agree()
    assert {row.title: row.topic_key for row in two.rows()} == {"Old": None, "New": TOPIC}
    assert "topic_key" not in note(two, "Old").engram
    assert observations.add(two.db, NewObservation("s1", "New", "newer", topic_key=TOPIC)).id == new


def test_of_two_machines_notes_of_one_topic_the_one_updated_last_keeps_it_on_both(two: Two) -> None:
    two.add("Mine", "mine", topic_key=TOPIC)
    two.db.execute("UPDATE observations SET created_at = '2026-01-02 00:00:00', updated_at = '2026-01-02 00:00:00'")
    two.agree()
    for id, time in (("older", "2026-01-01T00:00:00+00:00"), ("newer", "2026-01-03T00:00:00+00:00")):
        two.store.put(Memory(id, "semantic", id, id, created_at=time, updated_at=time, engram={"topic_key": TOPIC}))
        two.agree()
    assert [row.title for row in two.rows() if row.topic_key] == ["newer"]


def test_notes_of_other_members_are_not_changed(two: Two) -> None:
    two.add("Mine", "mine", topic_key=TOPIC)
    two.agree()
    two.store.put(Memory("bobs", "semantic", "Bob's", "b", engram={"topic_key": TOPIC, "type": "bugfix"}))
    two.store.put(Memory("also", "semantic", "Also", "b", engram={"topic_key": "Decision/My Cart", "sync_id": "x"}))
    two.store.shared.record([Shared("bobs", "team", "bob"), Shared("also", "team", "bob")])
    before = {note.id: note for note in two.notes()}
    two.store.refresh()
    two.bridge.reconcile()
    assert {note.id: note for note in two.notes()} == before
    assert {row.title: (row.topic_key, row.type) for row in two.rows()} == {
        "Mine": (TOPIC, ""),
        "Bob's": (TOPIC, "bugfix"),
        "Also": ("decision/my-cart", "semantic"),
    }


def test_notes_of_two_projects_with_one_name_keep_their_topics(two: Two) -> None:
    for project in ("github.com/a/shop", "github.com/b/shop"):
        two.store.put(Memory(project[-6], "semantic", project, "text", project=project, engram={"topic_key": TOPIC}))
    two.agree()
    assert [row.topic_key for row in two.rows()] == [TOPIC] * 2
