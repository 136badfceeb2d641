"""The save pipeline, step by step, and later changes of an observation."""

from __future__ import annotations

import hashlib
import re
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engram.rows import age, assert_sound, save

from anamnesis.engram import exchange, normal, observations, search, timeline
from anamnesis.engram.database import NotFound, Refused

FOREIGN_KEY = r"constraint failed: FOREIGN KEY constraint failed \(787\)"


def mutations(db: sqlite3.Connection) -> list[tuple[str, str, str]]:
    return db.execute("SELECT op, entity_key, project FROM sync_mutations WHERE entity = 'observation'").fetchall()


class TestSaving:
    def test_a_new_row_has_what_was_given_and_engrams_defaults(self, db: sqlite3.Connection) -> None:
        saved = save(db, "T", "C", type="decision", tool_name="Edit")
        row = saved.observation
        assert (saved.outcome, saved.truncated_from, saved.id) == ("inserted", None, 1)
        assert (row.type, row.title, row.content, row.tool_name, row.project) == (
            "decision",
            "T",
            "C",
            "Edit",
            "engram",
        )
        assert (row.scope, row.topic_key, row.revision_count, row.duplicate_count) == ("project", None, 1, 1)
        assert row.last_seen_at == row.created_at == row.updated_at
        assert row.deleted_at is None
        assert len(row.sync_id) == len("obs-") + 16
        (stored,) = db.execute("SELECT normalized_hash FROM observations").fetchone()
        assert stored == hashlib.sha256(b"c").hexdigest()

    def test_what_is_not_given_is_null(self, db: sqlite3.Connection) -> None:
        row = observations.add(db, observations.NewObservation("s1", "t", "c")).observation
        assert (row.type, row.tool_name, row.project, row.topic_key) == ("", None, None, None)

    def test_the_project_is_normalised_and_the_scope_is_one_of_two(self, db: sqlite3.Connection) -> None:
        assert save(db, project=" My--Proj__X ").observation.project == "my-proj_x"
        for named, stored in ((" Personal ", "personal"), ("team", "project"), ("", "project")):
            assert save(db, named, scope=named).observation.scope == stored

    def test_what_is_private_is_never_written(self, db: sqlite3.Connection) -> None:
        row = save(db, " a <private>k1</private> b", "x <PRIVATE>multi\nk2</PRIVATE> <private>open").observation
        assert (row.title, row.content) == ("a [REDACTED] b", "x [REDACTED] <private>open")
        assert db.execute(
            "SELECT count(*) FROM sync_mutations WHERE payload LIKE '%k1%' OR payload LIKE '%k2%'"
        ).fetchone() == (0,)

    @given(st.lists(st.sampled_from(["<private>", "</PRIVATE>", "</private>", "<", "a", "\n", " "]), max_size=20))
    def test_what_is_private_ends_at_the_first_closing_tag(self, pieces: list[str]) -> None:
        text = "".join(pieces)
        expected = re.sub("<private>.*?</private>", "[REDACTED]", text, flags=re.IGNORECASE | re.DOTALL).strip()
        assert normal.without_private(text) == expected

    def test_a_content_of_fifty_thousand_bytes_is_kept_and_a_longer_one_cut_between_characters(
        self, db: sqlite3.Connection
    ) -> None:
        assert save(db, "exact", "b" * 50_000).truncated_from is None
        long = save(db, "ascii", "a" * 50_001)
        assert (long.observation.content, long.truncated_from) == ("a" * 50_000 + "... [truncated]", 50_001)
        wide = save(db, "wide", "x" + "é" * 25_000)
        assert (wide.observation.content, wide.truncated_from) == ("x" + "é" * 24_999 + "... [truncated]", 50_001)

    def test_a_session_that_is_not_there_is_refused_in_engrams_words_and_costs_no_id(
        self, db: sqlite3.Connection
    ) -> None:
        with pytest.raises(Refused, match=FOREIGN_KEY):
            save(db, session="ghost")
        assert save(db).id == 1
        assert len(mutations(db)) == 1

    def test_lone_halves_of_characters_are_replaced(self, db: sqlite3.Connection) -> None:
        row = save(db, "a\ud800", "\udcffb", type="\ud83d", tool_name="\udfff", project="p\udcff").observation
        assert (row.title, row.content, row.type, row.tool_name) == ("a\ufffd", "\ufffdb", "\ufffd", "\ufffd")

    def test_every_character_survives_also_nul(self, db: sqlite3.Connection) -> None:
        assert save(db, "\x01", "c\0\x1f😀x").observation.content == "c\0\x1f😀x"


class TestRepetition:
    def test_the_same_within_fifteen_minutes_is_counted_whatever_its_blanks_and_case(
        self, db: sqlite3.Connection
    ) -> None:
        first = save(db, "Same", "Some  Content HERE", type="decision")
        again = save(db, "Same", "some content\nhere", type="decision")
        assert (again.id, again.outcome) == (first.id, "repeated")
        assert (again.observation.duplicate_count, again.observation.content) == (2, "Some  Content HERE")
        assert again.observation.revision_count == 1

    @pytest.mark.parametrize(
        "other", [{"title": "SAME"}, {"type": "bugfix"}, {"scope": "personal"}, {"project": "other"}, {"project": ""}]
    )
    def test_another_title_type_scope_or_project_is_another_observation(
        self, db: sqlite3.Connection, other: dict[str, str]
    ) -> None:
        first = save(db, title="Same")
        assert save(db, **{"title": "Same", **other}).id != first.id

    def test_an_older_one_is_not_counted(self, db: sqlite3.Connection) -> None:
        first = save(db)
        (old,) = db.execute("SELECT datetime('now', '-16 minutes')").fetchone()
        age(db, first.id, old)
        assert save(db).outcome == "inserted"

    def test_a_deleted_one_is_not_counted(self, db: sqlite3.Connection) -> None:
        observations.delete(db, save(db).id)
        assert save(db).outcome == "inserted"

    def test_without_a_project_null_and_an_empty_name_are_the_same(self, db: sqlite3.Connection) -> None:
        first = save(db, project="")
        db.execute("UPDATE observations SET project = ''")
        assert save(db, project="").id == first.id


class TestTopic:
    def test_a_topic_is_revised_in_place_and_keeps_its_session_and_its_creation(self, db: sqlite3.Connection) -> None:
        first = save(db, "First", "v1", topic_key="Architecture/Auth Model").observation
        db.execute("INSERT INTO sessions (id, project, directory) VALUES ('s2', 'engram', '')")
        second = save(db, "Second", "v2", "s2", type="config", topic_key="architecture/auth   model", tool_name="t")
        row = second.observation
        assert (second.outcome, row.id, row.sync_id) == ("revised", first.id, first.sync_id)
        assert (row.session_id, row.created_at) == ("s1", first.created_at)
        assert (row.title, row.content, row.type, row.tool_name) == ("Second", "v2", "config", "t")
        assert (row.topic_key, row.revision_count, row.duplicate_count) == ("architecture/auth-model", 2, 1)
        assert search.search(db, "v1") == []

    def test_each_project_and_each_scope_has_its_own(self, db: sqlite3.Connection) -> None:
        ids = [
            save(db, "t", f"v{n}", topic_key="a/b", **other).id
            for n, other in enumerate(({}, {"scope": "personal"}, {"project": "other"}, {"project": ""}))
        ]
        assert len(set(ids)) == 4
        assert save(db, "t", "again", topic_key="a/b", project="").id == ids[3]

    def test_a_deleted_one_is_not_revived(self, db: sqlite3.Connection) -> None:
        first = save(db, topic_key="a/b")
        observations.delete(db, first.id)
        assert save(db, topic_key="a/b").id != first.id

    def test_of_several_the_one_updated_last_is_revised(self, db: sqlite3.Connection) -> None:
        ids = [save(db, f"t{n}", f"c{n}").id for n in range(3)]
        db.execute("UPDATE observations SET topic_key = 'a/b'")
        for id, at in zip(ids, ("2025-01-01 00:00:00", "2025-01-03 00:00:00", "2025-01-02 00:00:00"), strict=True):
            age(db, id, at)
        assert save(db, topic_key="a/b").id == ids[1]

    def test_it_comes_before_repetition(self, db: sqlite3.Connection) -> None:
        assert [save(db, topic_key="a/b").outcome for _ in range(2)] == ["inserted", "revised"]


class TestUpdate:
    def test_only_what_is_given_changes(self, db: sqlite3.Connection) -> None:
        before = save(db, "T1", "C1", type="decision", topic_key="a/b", tool_name="Edit").observation
        after = observations.update(db, before.id, {"title": "New", "content": None})
        assert after.title == "New"
        assert after.revision_count == 2
        kept = (
            "content",
            "type",
            "topic_key",
            "tool_name",
            "project",
            "scope",
            "sync_id",
            "created_at",
            "last_seen_at",
        )
        assert [getattr(after, name) for name in kept] == [getattr(before, name) for name in kept]

    def test_every_field_takes_the_form_it_is_saved_in(self, db: sqlite3.Connection) -> None:
        id = save(db).id
        changed = observations.update(
            db, id,
            {"type": "bugfix", "title": " <private>x</private>", "content": "a" * 60_000, "project": "Other Proj",
             "scope": "PERSONAL", "topic_key": " A  B/C "},
        )  # fmt: skip
        assert (changed.type, changed.title, changed.project) == ("bugfix", "[REDACTED]", "other proj")
        assert (changed.scope, changed.topic_key) == ("personal", "a-b/c")
        assert len(changed.content) == 50_015

    def test_an_empty_project_or_topic_is_none_and_empty_texts_stay_empty(self, db: sqlite3.Connection) -> None:
        id = save(db, topic_key="a/b").id
        changed = observations.update(db, id, dict.fromkeys(("title", "content", "project", "topic_key", "scope"), ""))
        assert (changed.title, changed.content, changed.project, changed.topic_key) == ("", "", None, None)
        assert changed.scope == "project"

    def test_a_changed_content_is_found_by_its_new_words_and_repeated_by_them(self, db: sqlite3.Connection) -> None:
        id = save(db, "t", "before").id
        observations.update(db, id, {"content": "after"})
        assert [found.id for found in search.search(db, "after")] == [id]
        assert search.search(db, "before") == []
        assert save(db, "t", "AFTER").id == id

    @pytest.mark.parametrize("delete", [True, False])
    def test_one_that_is_not_there_or_deleted_is_refused_in_engrams_words(
        self, db: sqlite3.Connection, delete: bool
    ) -> None:
        id = save(db).id
        if delete:
            observations.delete(db, id)
        with pytest.raises(NotFound, match="sql: no rows in result set"):
            observations.update(db, id if delete else 99, {"title": "x"})


class TestDeletion:
    def test_a_soft_one_hides_the_row_and_keeps_it(self, db: sqlite3.Connection) -> None:
        id = save(db, "t", "alpha").id
        assert observations.delete(db, id)
        assert observations.get(db, id) is None
        assert observations.recent(db) == search.search(db, "alpha") == []
        ((deleted_at, updated_at),) = db.execute("SELECT deleted_at, updated_at FROM observations").fetchall()
        assert deleted_at == updated_at

    def test_a_hard_one_takes_the_row_and_its_words(self, db: sqlite3.Connection) -> None:
        assert observations.delete(db, save(db).id, hard=True)
        assert db.execute("SELECT count(*) FROM observations").fetchone() == (0,)
        assert_sound(db)

    def test_one_that_is_not_there_is_passed_over_and_one_deleted_already_unless_hard(
        self, db: sqlite3.Connection
    ) -> None:
        id = save(db).id
        observations.delete(db, id)
        assert not observations.delete(db, id)
        assert not observations.delete(db, 99, hard=True)
        assert not observations.delete(db, id, hard=True, strict=True)
        assert db.execute("SELECT count(*) FROM observations").fetchone() == (1,)
        assert observations.delete(db, id, hard=True)
        assert db.execute("SELECT count(*) FROM observations").fetchone() == (0,)
        assert_sound(db)

    def test_a_hard_one_leaves_only_itself_in_the_queue(self, db: sqlite3.Connection) -> None:
        kept, gone = save(db, "kept", "alpha"), save(db, "gone", "beta")
        observations.update(db, gone.id, {"content": "gamma"})
        observations.delete(db, gone.id, hard=True)
        queued = db.execute("SELECT entity_key, op FROM sync_mutations WHERE entity = 'observation'").fetchall()
        assert queued == [(kept.observation.sync_id, "upsert"), (gone.observation.sync_id, "delete")]

    def test_an_id_is_never_given_twice(self, db: sqlite3.Connection) -> None:
        first = save(db).id
        observations.delete(db, first, hard=True)
        assert save(db).id == first + 1


class TestRecent:
    def test_the_newest_come_first_and_the_id_breaks_ties(self, db: sqlite3.Connection) -> None:
        ids = [save(db, f"t{n}").id for n in range(4)]
        for id in ids:
            age(db, id, "2025-01-01 00:00:00")
        age(db, ids[0], "2025-01-02 00:00:00")
        assert [row.id for row in observations.recent(db)] == [ids[0], ids[3], ids[2], ids[1]]

    def test_twenty_unless_a_number_is_given(self, db: sqlite3.Connection) -> None:
        for number in range(30):
            save(db, f"t{number}")
        assert [len(observations.recent(db, limit=limit)) for limit in (0, -1, 3, 100)] == [20, 20, 3, 30]

    def test_project_and_scope_narrow_it(self, db: sqlite3.Connection) -> None:
        mine = save(db, "mine", scope="personal").id
        ours = save(db, "ours").id
        other = save(db, "other", project="other", scope="personal").id
        assert {row.id for row in observations.recent(db)} == {mine, ours, other}
        assert [row.id for row in observations.recent(db, " ENGRAM ")] == [ours, mine]
        assert [row.id for row in observations.recent(db, scope="Personal")] == [other, mine]
        assert [row.id for row in observations.recent(db, "engram", "personal")] == [mine]
        assert [row.id for row in observations.recent(db, scope="nonsense")] == [ours]
        assert observations.recent(db, "none") == []


def test_every_write_is_queued_in_its_order_with_its_project(db: sqlite3.Connection) -> None:
    row = save(db, topic_key="a/b").observation
    save(db, "t2", topic_key="a/b")
    observations.update(db, row.id, {"project": "other"})
    observations.delete(db, row.id)
    assert mutations(db) == [
        ("upsert", row.sync_id, "engram"),
        ("upsert", row.sync_id, "engram"),
        ("upsert", row.sync_id, "other"),
        ("delete", row.sync_id, ""),
    ]


def test_a_text_that_a_tool_has_stored_as_bytes_is_a_text(db: sqlite3.Connection) -> None:
    id = save(db, "Title", "panic").id
    db.execute("UPDATE observations SET content = CAST(content AS BLOB), title = CAST(title AS BLOB)")
    for found in (
        observations.get(db, id),
        *observations.recent(db),
        *exchange.export(db).observations,
        *search.search(db, "panic"),
        timeline.timeline(db, id).focus,
    ):
        assert found
        assert (found.title, found.content) == ("Title", "panic")
