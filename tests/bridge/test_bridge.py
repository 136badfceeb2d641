"""Cases that once went wrong, and ways to lose or to double what is in a memory of two sides."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from tests.bridge.memory import Two, connected, state
from tests.killing import fork, wait_for

from anamnesis.engram import observations, projects, sessions
from anamnesis.engram.context import context, smart_context
from anamnesis.engram.database import connect
from anamnesis.engram.observations import NewObservation
from anamnesis.notes import Memory, parse, render, utc_time
from anamnesis.notes.merge import conflict_of
from anamnesis.store import MemoryStore
from anamnesis.store.deleted import deleted_notes
from anamnesis.vault import Vault

INSERT = (
    "INSERT INTO observations (sync_id, session_id, type, title, content, created_at, updated_at)"
    " VALUES (?, 's1', 'decision', ?, ?, '2026-01-02 03:04:05', '2026-01-02 03:04:05')"
)


def test_a_file_that_cannot_be_read_is_not_taken_for_one_that_has_gone(two: Two) -> None:
    id = two.add()
    two.agree()
    file = two.file_of("Title")
    note = parse(file.read_text("utf-8"))
    renamed = file.with_name("as I like it.md")
    for place in (file, renamed):
        file.rename(place) if place != file else None
        place.write_text(render(note).replace("title:", "title: ["), "utf-8")
        two.agree(note.id)
        assert two.row(id).deleted_at is None
        observations.update(two.db, id, {"title": f"Changed {place.stem}"})
        two.agree(note.id)
        assert "title: [" in place.read_text("utf-8")
        file = place
    renamed.write_text(render(replace(note, body="mended")), "utf-8")
    two.agree()
    assert two.row(id).content == "mended"
    assert two.row(id).title.startswith("Changed")
    assert len(two.notes()) == 1


def test_a_broken_file_that_is_removed_deletes_its_observation_then(two: Two) -> None:
    id = two.add()
    two.agree()
    file = two.file_of("Title")
    file.write_text("broken", "utf-8")
    two.agree(file.stem)
    file.unlink()
    two.agree()
    assert two.row(id).deleted_at


def test_a_note_that_came_and_went_between_two_looks_does_not_wait_for_ever(two: Two) -> None:
    note = two.store.write(type="semantic", title="Short", body="lived")
    two.store.delete(note.id)
    two.agree()
    assert two.rows() == []


def test_each_of_many_observations_with_one_identity_is_a_note(two: Two) -> None:
    for number in range(5):
        two.db.execute(INSERT, ("obs-00000000000000aa", f"Title {number}", f"content {number}"))
        if number % 2:
            two.agree()
    two.agree()
    assert sorted(note.title for note in two.notes()) == [f"Title {number}" for number in range(5)]
    two.db.execute("DROP TABLE anamnesis_twins")
    two.reopen()
    two.agree()
    assert len(two.rows()) == len(two.notes()) == 5


def test_an_observation_that_was_removed_and_brought_in_again_is_the_same_note(two: Two) -> None:
    two.db.execute(INSERT, ("obs-00000000000000aa", "Title", "before"))
    two.agree()
    two.db.execute("DELETE FROM observations")
    two.db.execute(INSERT, ("obs-00000000000000aa", "Title", "after"))
    two.agree()
    [note] = two.notes()
    assert note.body == "after"


def test_an_edited_note_outlives_its_observation_and_nothing_waits(two: Two) -> None:
    id = two.add()
    two.agree()
    two.store.update(two.notes()[0].id, body="edited")
    observations.delete(two.db, id, hard=True)
    two.agree()
    [row] = two.rows()
    assert (row.content, row.id != id) == ("edited", True)


@pytest.mark.parametrize("note_id", ["mine", "01J9Z8YPM7Q3X2V4WT6B5N0KGD", "a.b-c"])
@pytest.mark.parametrize(
    "lost", ["TABLE anamnesis_twins", "TABLE anamnesis_bridge", "TRIGGER anamnesis_changes_update"]
)
def test_a_lost_journal_makes_no_second_note_and_no_second_observation(two: Two, note_id: str, lost: str) -> None:
    two.store.put(Memory(note_id, "semantic", "Title", "body"))
    two.add("Row")
    two.agree()
    before = two.rows()
    two.db.execute(f"DROP {lost}")
    two.reopen()
    two.agree()
    assert two.rows() == before
    assert len(two.notes()) == 2


def test_what_was_written_while_no_revisions_were_kept_is_not_taken_for_what_was_agreed(two: Two) -> None:
    id = two.add(content="agreed")
    two.agree()
    two.db.execute("DROP TRIGGER anamnesis_revisions_update")
    two.db.execute("UPDATE observations SET content = 'of the row' WHERE id = ?", (id,))
    two.reopen()
    note = two.notes()[0]
    two.store.update(note.id, body="of the note")
    two.agree()
    assert {each.body for each in two.notes()} == {"of the note", "of the row"}
    assert [conflict_of(each) for each in two.notes() if conflict_of(each)] == [note.id]


@pytest.mark.parametrize("is_open", [True, False])
def test_a_note_that_vanished_together_with_the_index_is_deleted_all_the_same(two: Two, is_open: bool) -> None:
    id = two.add()
    two.agree()
    if not is_open:
        two.bridge.close()
        two.store.close()
    two.file_of("Title").unlink()
    for suffix in ("", "-wal", "-shm"):
        (two.store.root / f"index.db{suffix}").unlink(missing_ok=True)
    if not is_open:
        two.reopen()
    two.agree()
    assert two.row(id).deleted_at


def test_after_a_reindex_notes_are_still_taken_over(two: Two) -> None:
    two.store.reindex()
    note = two.store.write(type="semantic", title="After", body="b")
    two.bridge.follow()
    assert [row.title for row in two.rows()] == ["After"]
    two.agree()
    assert two.store.get(note.id) == note


def test_a_version_that_cannot_be_set_aside_is_not_given_up_and_does_not_stop_the_others(two: Two) -> None:
    id = two.add(content="agreed")
    two.agree()
    file = two.file_of("Title")
    note = parse(file.read_text("utf-8"))
    # The older version leans on a line of ours that a note set aside writes otherwise.
    file.write_text(
        render(replace(note, body="of the note", extra={"id": "mine: &m x\n", "tags": "other: *m\n"})), "utf-8"
    )
    two.db.execute("UPDATE observations SET content = 'of the row', updated_at = '2031-01-01' WHERE id = ?", (id,))
    two.add("Another")
    two.store.refresh()
    two.bridge.reconcile()
    assert "Another" in {each.title for each in two.notes()}
    kept = " ".join(each.body for each in two.notes())
    assert "of the note" in kept


def test_bytes_that_are_no_text_stay_in_every_column(two: Two) -> None:
    odd = b"cut \xc3"
    two.db.execute("INSERT INTO sessions (id, project, directory) VALUES (CAST(? AS TEXT), '', '')", (odd,))
    columns = ("session_id", "type", "title", "content", "tool_name", "project", "created_at")
    two.db.execute(INSERT, ("obs-00000000000000aa", "Title", "content"))
    for column in columns:
        two.db.execute(f"UPDATE observations SET {column} = CAST(? AS TEXT)", (odd,))
    two.agree()
    [note] = two.notes()
    two.store.update(note.id, tags=["new"])
    two.agree()
    for column in columns:
        assert two.db.execute(f"SELECT CAST({column} AS BLOB) FROM observations").fetchone() == (odd,)
    two.store.update(note.id, body="edited")
    two.agree()
    assert two.rows()[0].content == "edited"
    assert two.rows()[0].session_id == "cut \udcc3"


@pytest.mark.parametrize("row_time", ["2001-01-01 00:00:00", "2031-01-01 00:00:00"])
def test_of_two_titles_both_are_notes_also_where_the_text_is_cut_in_a_character(two: Two, row_time: str) -> None:
    id = two.add()
    two.agree()
    two.store.update(two.notes()[0].id, title="Of the note")
    two.db.execute(
        "UPDATE observations SET title = 'Of the row', content = CAST(? AS TEXT), updated_at = ? WHERE id = ?",
        (b"cut \xc3", row_time, id),
    )
    two.agree()
    assert {note.title for note in two.notes()} == {row.title for row in two.rows()} == {"Of the note", "Of the row"}
    assert two.row(id).content == "cut \udcc3"


def test_bytes_where_a_text_should_be_do_not_stop_the_others(two: Two) -> None:
    two.add("Good")
    two.db.execute(INSERT, (b"obs-\xff", b"blob title", b"blob content"))
    two.agree()
    assert {note.title for note in two.notes()} == {"Good", "blob title"}
    assert two.bridge.drift() == 0


def test_fields_of_engram_that_a_person_made_up_change_nothing_but_themselves(two: Two) -> None:
    id = two.add()
    two.agree()
    file = two.file_of("Title")
    text = file.read_text("utf-8")
    made_up = "engram:\n  content: other\n  id: 77\n  mine: kept\n  revision_count: many\n"
    file.write_text(text.replace("engram:\n", made_up), "utf-8")
    two.agree()
    assert (two.row(id).content, two.row(id).revision_count) == ("content", 1)
    observations.update(two.db, id, {"title": "Changed"})
    two.agree()
    assert "  mine: kept\n" in two.file_of("Changed").read_text("utf-8")


def test_a_clock_that_went_backwards_hides_no_change(two: Two) -> None:
    id = two.add()
    two.agree()
    two.db.execute("UPDATE observations SET content = 'later', updated_at = '2001-01-01 00:00:00' WHERE id = ?", (id,))
    two.agree()
    assert two.notes()[0].body == "later"
    file = two.file_of("Title")
    note = parse(file.read_text("utf-8"))
    file.write_text(render(replace(note, body="latest", updated_at="1999-01-01")), "utf-8")
    two.agree()
    assert two.row(id).content == "latest"


def test_changes_of_both_sides_in_one_second_are_both_kept(two: Two) -> None:
    id = two.add(content="one\ntwo")
    two.agree()
    now = two.row(id).updated_at
    note = two.notes()[0]
    two.store.put(replace(note, body="ONE\ntwo"))
    two.db.execute("UPDATE observations SET content = 'uno\ntwo', updated_at = ? WHERE id = ?", (now, id))
    two.agree()
    assert {each.body for each in two.notes()} == {"ONE\ntwo", "uno\ntwo"}
    assert len(two.rows()) == 2


def test_a_machine_local_note_is_an_observation_and_stays_local(two: Two) -> None:
    note = two.store.write(type="semantic", title="Local", body="b", scope="machine-local")
    two.agree()
    [row] = two.rows()
    observations.update(two.db, row.id, {"content": "changed", "type": "bugfix"})
    two.agree()
    changed = two.store.get(note.id)
    assert (changed.scope, changed.body, changed.type) == ("machine-local", "changed", "procedural")
    assert not [*(two.store.root / "memory").rglob("*.md")]


def test_a_machine_local_note_is_not_queued_for_the_cloud_until_it_is_portable(two: Two) -> None:
    def queued() -> list[str]:
        return [payload for (payload,) in two.db.execute("SELECT payload FROM sync_mutations WHERE op = 'upsert'")]

    note = two.store.write(type="semantic", title="Diary", body="heron", scope="machine-local")
    two.add("Public")
    two.agree()
    observations.update(two.db, next(row.id for row in two.rows() if row.title == "Diary"), {"content": "egret"})
    two.agree()
    two.add("Other", "of another project", project="other")
    two.store.update(note.id, project="elsewhere")
    two.agree()
    assert projects.migrate(two.db, "other", "elsewhere").migrated
    two.agree()
    assert [text for text in queued() if "Diary" in text] == []
    assert any("Public" in text for text in queued())
    two.store.update(note.id, scope="portable")
    two.agree()
    assert any("egret" in text for text in queued())


def test_a_very_long_text_is_the_same_on_both_sides(two: Two) -> None:
    body = "line of a long note\n" * 50_000
    two.store.write(type="semantic", title="Long", body=body)
    two.db.execute(INSERT, ("obs-00000000000000aa", "Long row", body * 2))
    two.agree()
    assert sorted(len(row.content) for row in two.rows()) == [len(body), 2 * len(body)]
    assert sorted(len(note.body) for note in two.notes()) == [len(body), 2 * len(body)]


def test_a_session_of_a_thousand_observations_that_changes_its_project(two: Two) -> None:
    with two.db:
        two.db.execute("BEGIN")
        two.db.executemany(INSERT, [(f"obs-{number:016x}", f"Title {number}", "c") for number in range(1000)])
    two.agree()
    assert two.store.count() == 1000
    two.db.execute("UPDATE observations SET project = 'renamed'")
    two.agree()
    assert two.store.count(project="renamed") == 1000


def test_a_note_that_is_copied_under_another_id_is_another_observation(two: Two) -> None:
    two.add()
    two.agree()
    file = two.file_of("Title")
    note = parse(file.read_text("utf-8"))
    file.with_name("copy.md").write_text(render(replace(note, id="copy", title="Copy")), "utf-8")
    two.agree()
    assert {row.title for row in two.rows()} == {"Title", "Copy"}


def test_the_note_of_an_observation_that_has_gone_makes_way_for_one_of_its_identity(two: Two) -> None:
    """As after an import of what was deleted for good: what the note said is in the trash, as it would be without."""
    id = two.add(content="deleted for good")
    two.agree()
    gone = two.row(id)
    observations.delete(two.db, id, hard=True)
    two.db.execute(
        "INSERT INTO observations (sync_id, session_id, type, title, content, created_at, updated_at)"
        " VALUES (?, 's1', 'decision', 'Imported', 'imported', ?, ?)",
        (gone.sync_id, gone.created_at, gone.updated_at),
    )
    two.agree()
    assert [note.body for note in two.notes()] == ["imported"]
    [trashed] = two.store.trashed()
    assert "deleted for good" in (two.store.root / trashed.path).read_text("utf-8")


def test_a_note_that_got_another_id_in_two_files_is_not_waited_for(two: Two) -> None:
    """One of them has the name of the note that has gone, and can be read."""
    two.add()
    two.agree()
    file = two.file_of("Title")
    text = render(replace(parse(file.read_text("utf-8")), id="other"))
    for path in (file, file.with_name("a copy.md")):
        path.write_text(text, "utf-8")
    two.store.refresh()
    two.agree()
    assert [note.id for note in two.notes()] == ["other"]


def test_an_observation_that_went_on_while_its_note_was_written_leaves_no_conflict(two: Two) -> None:
    """As after a kill between the two writes: the note is a version that the observation had."""
    id = two.add(content="one")
    two.agree()
    agreed = two.db.execute("SELECT * FROM anamnesis_twins").fetchall()
    observations.update(two.db, id, {"content": "two"})
    two.agree()
    two.db.execute("DELETE FROM anamnesis_twins")
    two.db.executemany("INSERT INTO anamnesis_twins VALUES (?, ?, ?, ?, ?, ?)", agreed)
    observations.update(two.db, id, {"content": "three"})
    two.agree()
    [note] = two.notes()
    assert note.body == "three"


def test_more_notes_than_are_taken_at_a_time_are_paired_before_any_observation(two: Two) -> None:
    """Where the journals were lost, a note with an id of its own must be met before its observation is."""
    two.store.put_all(Memory(f"n{number}", "semantic", f"Title {number}", "b") for number in range(12))
    two.agree()
    two.db.execute("DROP TABLE anamnesis_twins")
    two.reopen()
    while not two.bridge.follow(most=5):
        pass
    two.agree()
    assert len(two.notes()) == len(two.rows()) == 12


def test_of_many_notes_those_that_changed_first_are_reconciled_first(two: Two) -> None:
    for number in range(5):
        two.store.write(type="semantic", title=f"Title {number}", body="b")
    assert not two.bridge.follow(most=2)
    assert {row.title for row in two.rows()} == {"Title 0", "Title 1"}
    two.agree()


def test_episodes_that_were_folded_into_durable_notes_are_not_injected_into_sessions_of_engram(two: Two) -> None:
    two.store.write(type="episodic", title="Folded", body="b", tags=["a", "reflected", "z"])
    two.store.write(type="episodic", title="Reflected upon later", body="- reflected", tags=["reflected-not"])
    two.agree()
    for given in (context(two.db), smart_context(two.db, "", 10)):
        assert ("Folded" in given, "Reflected upon later" in given) == (False, True)
    assert len(observations.recent(two.db)) == 2


def test_the_observation_of_a_superseded_note_says_so_as_long_as_it_is(two: Two) -> None:
    old = two.store.write(type="semantic", title="Old", body="b")
    other = two.store.write(type="semantic", title="Other", body="b")
    new = two.store.write(type="semantic", title="New", body="b", supersedes=old.id)
    two.agree()

    def superseded() -> dict[str, str | None]:
        rows = two.db.execute(
            "SELECT one.title, two.title FROM observations AS one"
            " JOIN observations AS two ON two.sync_id = one.superseded_by"
        )
        return dict(rows.fetchall())

    assert superseded() == {"Old": "New"}
    two.store.update(new.id, supersedes=[other.id])
    two.agree()
    assert superseded() == {"Other": "New"}
    two.store.update(new.id, supersedes=[other.id, old.id])
    two.agree()
    assert superseded() == {"Old": "New", "Other": "New"}
    [row] = [row for row in two.rows() if row.title == "New"]
    observations.delete(two.db, row.id)
    two.agree()
    assert superseded() == {}
    two.db.execute("UPDATE observations SET deleted_at = NULL")
    two.agree()
    assert superseded() == {"Old": "New", "Other": "New"}
    two.store.delete(new.id)
    two.agree()
    assert superseded() == {}
    two.store.restore(new.id)
    two.agree()
    assert superseded() == {"Old": "New", "Other": "New"}


def test_an_observation_that_was_taken_away_takes_every_file_of_its_note_along(two: Two) -> None:
    id = two.add()
    two.agree()
    file = two.file_of("Title")
    file.with_name("copy.md").write_bytes(file.read_bytes())
    two.agree()
    observations.delete(two.db, id, hard=True)
    two.agree()
    assert (two.notes(), two.store.trashed()) == ([], [])


@pytest.mark.parametrize("row_time", ["2001-01-01 00:00:00", "2031-01-01 00:00:00"])
def test_of_two_titles_that_were_changed_at_once_both_are_notes_and_observations(two: Two, row_time: str) -> None:
    id = two.add()
    two.agree()
    two.store.update(two.notes()[0].id, title="Of the note")
    two.db.execute("UPDATE observations SET title = 'Of the row', updated_at = ? WHERE id = ?", (row_time, id))
    two.agree()
    assert {note.title for note in two.notes()} == {row.title for row in two.rows()} == {"Of the note", "Of the row"}
    assert len([note for note in two.notes() if conflict_of(note)]) == 1


def test_threads_on_both_doors_of_one_memory_lose_nothing(tmp_path: Path, two: Two) -> None:
    def work(store: Vault, name: str) -> None:
        with contextlib.closing(connect(two.path)) as db:
            for number in range(8):
                store.write(type="semantic", title=f"{name} note {number}", body="b")
                with store.around(db):
                    observations.add(db, NewObservation("s1", f"{name} row {number}", f"{name} {number}"))

    with connected(two.store.root, two.path) as store, ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(work, store, name) for name in "abcd"]:
            done.result()
    two.agree()
    titles = [f"{name} {kind} {number}" for name in "abcd" for kind in ("note", "row") for number in range(8)]
    assert sorted(note.title for note in two.notes()) == sorted(titles)


def test_who_removes_the_home_with_all_notes_gets_them_back_and_loses_no_observation(two: Two) -> None:
    for number in range(3):
        two.add(f"Title {number}")
    two.store.write(type="semantic", title="By hand", body="b", tags=["kept"])
    two.agree()
    before = two.rows()
    two.bridge.close()
    two.store.close()
    shutil.rmtree(two.store.root)
    two.store = MemoryStore(two.store.root)
    two.reopen()
    two.agree()
    assert two.rows() == before
    assert {note.title for note in two.notes()} == {"By hand", "Title 0", "Title 1", "Title 2"}
    two.store.close()


def test_two_homes_that_use_one_engram_in_turn_do_not_delete_each_others_notes(two: Two, tmp_path: Path) -> None:
    two.add("First")
    two.agree()
    first = two.store
    with MemoryStore(tmp_path / "other") as second:
        for number, store in enumerate((second, first, second, first)):
            two.store = store
            two.reopen()
            two.agree()
            two.add(f"Row {number}", f"content {number}")
            store.write(type="semantic", title=f"Note {number}", body="b")
            two.agree()
            assert not [row for row in two.rows() if row.deleted_at]
            assert len(two.notes()) == len(two.rows()) == 3 + 2 * number


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a killed process is a forked one")
def test_an_observation_that_goes_after_a_kill_leaves_no_note_behind_alone(two: Two) -> None:
    def take_over() -> None:
        with connected(two.store.root, two.path) as store:
            store.reconcile()

    two.bridge.close()
    two.store.close()
    is_killed, number = True, 1
    while is_killed:
        two.add(f"Title {number}", f"content {number}")
        is_killed = wait_for(fork(take_over, number))
        two.db.execute("DELETE FROM observations")
        two.reopen()
        two.agree()
        assert (two.notes(), two.rows()) == ([], [])
        two.bridge.close()
        two.store.close()
        number += 5


def test_a_backup_of_engram_that_is_brought_back_learns_what_the_notes_know(two: Two) -> None:
    kept, removed, edited = two.add("Kept"), two.add("Removed"), two.add("Edited")
    two.agree()
    two.bridge.close()
    with contextlib.closing(sqlite3.connect(two.path.with_name("backup.db"))) as backup:
        two.db.backup(backup)
    two.reopen()
    [note] = [note for note in two.notes() if note.title == "Edited"]
    two.store.update(note.id, body="newer")
    two.store.delete(next(note.id for note in two.notes() if note.title == "Removed"))
    two.store.write(type="semantic", title="New", body="b")
    two.agree()
    two.bridge.close()
    with contextlib.closing(sqlite3.connect(two.path.with_name("backup.db"))) as backup:
        backup.backup(two.db)
    two.reopen()
    two.agree()
    assert two.row(edited).content == "newer"
    assert two.row(kept).deleted_at is None
    assert two.row(removed).deleted_at
    assert {note.title for note in two.notes()} == {"Kept", "Edited", "New"}
    assert len(two.rows()) == 4


def test_a_home_that_forgot_whom_it_met_costs_a_look_and_no_more(two: Two) -> None:
    two.add()
    two.agree()
    before = state(two.store.root, two.path)[0]
    for text in ("", "something else", "x y z"):
        two.bridge.close()
        (two.store.root / "bridge.met").write_text(text)
        two.reopen()
        two.agree()
        assert state(two.store.root, two.path)[0] == before


def test_what_was_deleted_through_either_door_is_listed_and_comes_back(two: Two) -> None:
    ours, theirs = two.add("Ours"), two.add("Theirs")
    two.agree()
    titles = {note.title: note.id for note in two.notes()}
    two.store.delete(titles["Ours"])
    observations.delete(two.db, theirs)
    two.agree()
    found = {each.title: each for each in deleted_notes(two.store)}
    assert {title: each.id for title, each in found.items()} == titles
    assert found["Theirs"].deleted_at == utc_time(two.row(theirs).deleted_at or "")
    assert (two.store.root / found["Theirs"].path).exists()
    for each in found.values():
        two.store.restore(each.id)
    two.agree()
    assert deleted_notes(two.store) == []
    assert [two.row(id).deleted_at for id in (ours, theirs)] == [None, None]


def test_a_row_keeps_the_secrets_that_engram_stored_and_its_note_has_none(two: Two) -> None:
    token = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    sessions.create(two.db, f"s {token}", f"p/{token}")
    id = observations.add(
        two.db, NewObservation(f"s {token}", "Title", "content", f"t {token}", f"tool {token}", f"p/{token}")
    ).id
    two.agree()
    assert two.row(id).session_id == f"s {token}"
    [note] = two.notes()
    assert "REDACTED" in note.project
    assert "REDACTED" in note.prov_session
    assert token.lower() not in two.file_of("Title").read_text("utf-8").lower()
    observations.update(two.db, id, {"content": "changed"})
    two.agree()
    assert two.row(id).session_id == f"s {token}"
    assert two.row(id).project == f"p/{token.lower()}"
    assert two.notes()[0].body == "changed"
