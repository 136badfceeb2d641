"""A project has one name, and renaming it renames all its rows."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engram.rows import assert_sound, save

from anamnesis.engram import observations, projects, prompts, search, sessions
from anamnesis.engram.database import Refused
from anamnesis.engram.record import MergeResult, MigrateResult


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (" My--Proj__X ", "my-proj_x"), ("a----b", "a-b"), ("a_-_-b", "a_-_-b"), ("-__-", "-_-"), ("", ""),
        ("\u00a0É\t", "é"), ("ΑΣ", "ασ"), ("İ", "i"), ("\x1c", "\x1c"), ("a\udcff", "a\ufffd"),
    ],
)  # fmt: skip
def test_a_name_is_lower_case_without_blanks_around_it_and_with_single_dashes(given: str, stored: str) -> None:
    assert projects.normalise(given) == stored


@given(st.text())
def test_a_normal_name_stays_as_it_is(text: str) -> None:
    name = projects.normalise(text)
    assert projects.normalise(name) == name


class TestLists:
    @pytest.fixture(autouse=True)
    def written(self, db: sqlite3.Connection) -> None:
        sessions.create(db, "s2", "other", "/b")
        sessions.create(db, "s3", "other", "/a")
        sessions.create(db, "s4", "other", "/a")
        for number in range(3):
            save(db, f"t{number}", project="zoo")
        save(db, "e")
        save(db, "none", project="")
        observations.delete(db, save(db, "gone", project="gone").id)
        prompts.add(db, "s1", "x", "asked")

    def test_names_are_those_with_live_observations(self, db: sqlite3.Connection) -> None:
        assert projects.names(db) == ["engram", "zoo"]
        assert [projects.count(db, name) for name in ("engram", "zoo", "gone", "other")] == [1, 3, 0, 0]

    def test_the_list_has_every_project_that_anything_belongs_to(self, db: sqlite3.Connection) -> None:
        assert [
            (each.name, each.observation_count, each.session_count, each.prompt_count, each.directories)
            for each in projects.listing(db)
        ] == [
            ("zoo", 3, 0, 0, ()),
            ("engram", 1, 1, 0, ("/w/engram",)),
            ("asked", 0, 0, 1, ()),
            ("other", 0, 3, 0, ("/a", "/b")),
        ]

    def test_similar_projects_are_looked_for_among_those_with_memories(self, db: sqlite3.Connection) -> None:
        assert projects.similar(db, "engramm") == ["engram"]
        assert projects.similar(db, "othr") == []


@pytest.mark.parametrize(
    ("name", "others", "similar"),
    [
        ("engram", ["engram"], []),
        ("engram", ["xngram", "my-engram", "Engram", "nothing"], ["Engram", "my-engram", "xngram"]),
        ("engram-memory", ["engram"], ["engram"]),
        ("ab", ["abc", "ax", "xy"], ["abc", "ax"]),
        ("a", ["b"], ["b"]),
        ("a", ["bc"], []),
        ("projekt", ["prooekt", "broject", "xyzjekt"], ["prooekt", "broject", "xyzjekt"]),
        ("projekt", ["wxyzekt"], []),
    ],
)
def test_like_names_are_equal_but_for_case_then_contained_then_misspelt(
    name: str, others: list[str], similar: list[str]
) -> None:
    assert projects.similar_names(name, others) == similar


class TestMigration:
    def test_everything_of_a_project_moves_the_deleted_too(self, db: sqlite3.Connection) -> None:
        save(db, "live")
        observations.delete(db, save(db, "gone").id)
        prompts.add(db, "s1", "x", "engram")
        assert projects.migrate(db, " Engram", "MiXed") == MigrateResult(True, 2, 1, 1)
        assert db.execute("SELECT DISTINCT project FROM observations").fetchall() == [("mixed",)]
        assert [found.project for found in observations.recent(db, "MiXed")] == ["mixed"]
        assert [found.project for found in search.search(db, "live")] == ["mixed"]
        assert_sound(db)

    def test_strictly_the_names_are_taken_as_they_are_given(self, db: sqlite3.Connection) -> None:
        save(db, "live")
        assert not projects.migrate(db, "Engram", "x", strict=True).migrated
        assert projects.migrate(db, "engram", "MiXed", strict=True).observations_updated == 1
        assert observations.recent(db, "MiXed") == []
        assert [found.project for found in search.search(db, "live")] == ["MiXed"]

    def test_rows_under_a_name_that_readers_do_not_find_get_its_normal_form(self, db: sqlite3.Connection) -> None:
        save(db, "live")
        save(db, "other", project="mixed")
        projects.migrate(db, "engram", "MiXed", strict=True)
        assert projects.migrate(db, "MiXed", "mixed").observations_updated == 1
        assert len(observations.recent(db, "MiXed")) == 2

    @pytest.mark.parametrize("strict", [False, True])
    @pytest.mark.parametrize(("old", "new"), [("engram", "engram"), ("", "x"), ("engram", ""), ("no", "x")])
    def test_nothing_moves_without_two_names_or_rows(
        self, db: sqlite3.Connection, old: str, new: str, strict: bool
    ) -> None:
        save(db, "of no project", project="")
        before = db.total_changes
        assert projects.migrate(db, old, new, strict=strict) == MigrateResult(False, 0, 0, 0)
        assert db.total_changes == before

    @pytest.mark.parametrize(("old", "new"), [("engram", " ENGRAM "), ("engram", " "), (" ", "x")])
    def test_names_are_compared_in_their_normal_form(self, db: sqlite3.Connection, old: str, new: str) -> None:
        save(db, "of no project", project="")
        before = db.total_changes
        assert projects.migrate(db, old, new) == MigrateResult(False, 0, 0, 0)
        assert db.total_changes == before

    def test_what_was_never_queued_is_queued_under_the_new_name(self, db: sqlite3.Connection) -> None:
        save(db, "known")
        db.execute("DELETE FROM sync_mutations WHERE entity <> 'session'")
        prompts.add(db, "s1", "x", "engram")
        projects.migrate(db, "engram", "new")
        queued = db.execute("SELECT entity, project FROM sync_mutations ORDER BY seq").fetchall()
        assert queued == [("session", "engram"), ("prompt", "engram"), ("observation", "new")]


class TestMerging:
    def test_the_sources_move_into_one(self, db: sqlite3.Connection) -> None:
        sessions.create(db, "s2", "b", "")
        for project in ("a", "b", "b", "c"):
            save(db, f"t{project}{db.total_changes}", project=project)
        prompts.add(db, "s1", "x", "a")
        merged = projects.merge(db, [" A ", "b", "", "C", "none"], "c")
        assert merged == MergeResult("c", ("a", "b", "none"), 3, 1, 1)
        assert projects.names(db) == ["c"]
        assert_sound(db)

    def test_again_it_moves_nothing(self, db: sqlite3.Connection) -> None:
        save(db, project="a")
        projects.merge(db, ["a"], "b")
        assert projects.merge(db, ["a"], "b") == MergeResult("b", ("a",), 0, 0, 0)
        assert projects.merge(db, [], "b") == MergeResult("b", (), 0, 0, 0)

    def test_it_needs_a_name(self, db: sqlite3.Connection) -> None:
        with pytest.raises(Refused, match="canonical project name must not be empty"):
            projects.merge(db, ["a"], "  ")


class TestPruning:
    def test_a_project_without_live_observations_loses_its_prompts_and_unused_sessions(
        self, db: sqlite3.Connection
    ) -> None:
        sessions.create(db, "empty", "old")
        sessions.create(db, "used", "old")
        observations.delete(db, save(db, project="old", session="used").id)
        prompts.add(db, "empty", "x", "old")
        assert projects.prune(db, "old") == projects.PruneResult("old", 1, 1)
        assert sessions.get(db, "used")
        assert_sound(db)

    def test_one_with_observations_is_kept(self, db: sqlite3.Connection) -> None:
        save(db)
        with pytest.raises(Refused, match="still has 1 observations"):
            projects.prune(db, "engram")
        assert sessions.get(db, "s1")


def distance(name: str, other: str) -> int:
    """The distance of Levenshtein by its definition."""
    if not name or not other:
        return len(name) + len(other)
    shorter = distance(name[1:], other[1:]) + (name[0] != other[0])
    return min(shorter, distance(name[1:], other) + 1, distance(name, other[1:]) + 1)


@given(st.text("abé", max_size=6), st.text("abé", max_size=6))
def test_names_with_few_typos_are_similar_by_the_number_of_typos(name: str, other: str) -> None:
    likeness = next(iter(projects.similar_names(name, [other])), None)
    typos = distance(name, other)
    is_part = len(name.encode()) >= 3 and (name in other or other in name)
    is_like = is_part or typos <= min(3, max(1, len(name.encode()) // 2))
    assert (likeness == other) == (name != other and is_like)


def test_names_are_listed_from_the_fewest_typos_to_the_most() -> None:
    name = "abcdefghij" * 20
    others = [name[:50] + "-" * count + name[50 + count :] for count in range(5)]
    assert projects.similar_names(name, reversed(others)) == others[1:4]
