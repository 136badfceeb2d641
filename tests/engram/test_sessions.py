"""Sessions start once, can be ended repeatedly, and are listed by their activity."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engram.rows import age, save

from anamnesis.engram import observations, prompts, sessions
from anamnesis.engram.database import NotFound, connect, prepare


def test_one_that_is_there_gets_only_what_it_lacks(empty: sqlite3.Connection) -> None:
    sessions.create(empty, "a", "  My--Proj__X ")
    sessions.create(empty, "a", "other", "/d")
    sessions.create(empty, "a", "other", "/elsewhere")
    found = sessions.get(empty, "a")
    assert found
    assert (found.project, found.directory, found.ended_at, found.summary) == ("my-proj_x", "/d", None, None)


def test_an_empty_end_keeps_an_older_summary(db: sqlite3.Connection) -> None:
    assert sessions.end(db, "s1", "done")
    assert sessions.end(db, "s1", "")
    found = sessions.get(db, "s1")
    assert found and found.summary == "done" and found.ended_at
    sessions.end(db, "s1", "done twice")
    found = sessions.get(db, "s1")
    assert found and found.summary == "done twice"


def test_ending_one_that_is_not_there_does_nothing(db: sqlite3.Connection) -> None:
    before = db.execute("SELECT count(*) FROM sync_mutations").fetchone()
    assert not sessions.end(db, "nobody", "x")
    assert db.execute("SELECT count(*) FROM sync_mutations").fetchone() == before


def test_what_is_queued_is_what_engram_queues(empty: sqlite3.Connection) -> None:
    sessions.create(empty, "a/b", "P", '/w"<')
    sessions.end(empty, "a/b", "fin")
    at = sessions.get(empty, "a/b").ended_at  # type: ignore[union-attr]
    begun = r'{"id":"a/b","project":"p","directory":"/w\"\u003c"'
    assert empty.execute("SELECT entity_key, op, project, payload FROM sync_mutations").fetchall() == [
        ("a/b", "upsert", "p", begun + "}"),
        ("a/b", "upsert", "p", begun + f',"ended_at":"{at}","summary":"fin"}}'),
    ]


class TestRecent:
    def test_by_the_newest_live_observation_or_else_by_the_start(self, empty: sqlite3.Connection) -> None:
        for name, start in (("a", "2025-01-01"), ("b", "2025-01-02"), ("c", "2025-01-03"), ("d", "2025-01-04")):
            begin(empty, name, start)
        age(empty, save(empty, session="a").id, "2025-02-01")
        gone = save(empty, "gone", session="b").id
        age(empty, gone, "2025-03-01")
        observations.delete(empty, gone)
        age(empty, save(empty, "early", session="d").id, "2024-01-01")
        found = sessions.recent(empty)
        assert [(row.id, row.observation_count) for row in found] == [("a", 1), ("c", 0), ("b", 0), ("d", 1)]

    def test_the_id_breaks_ties(self, empty: sqlite3.Connection) -> None:
        for name in ("b", "a", "c"):
            begin(empty, name, "2025-01-01")
        assert [row.id for row in sessions.recent(empty)] == ["a", "b", "c"]

    def test_five_unless_a_number_is_given_and_of_a_project(self, empty: sqlite3.Connection) -> None:
        for number in range(9):
            begin(empty, f"s{number}", f"2025-01-0{number + 1}", "odd" if number % 2 else "even")
        assert [len(sessions.recent(empty, limit=limit)) for limit in (0, -3, 1, 100)] == [5, 5, 1, 9]
        assert [row.id for row in sessions.recent(empty, "ODD")] == ["s7", "s5", "s3", "s1"]
        assert sessions.recent(empty, "none") == []

    @given(
        st.lists(
            st.tuples(st.integers(0, 12), st.lists(st.tuples(st.integers(0, 12), st.booleans()), max_size=4)),
            max_size=12,
        ),
        st.integers(1, 6),
    )
    def test_the_short_way_gives_what_engrams_own_query_gives(
        self,
        tmp_path_factory: pytest.TempPathFactory,
        given_sessions: list[tuple[int, list[tuple[int, bool]]]],
        limit: int,
    ) -> None:
        path = tmp_path_factory.mktemp("recent") / "engram.db"
        prepare(path)
        db = connect(path)
        for number, (start, rows) in enumerate(given_sessions):
            begin(db, f"s{number:02}", f"2025-01-{start + 1:02}")
            for order, (created, deleted) in enumerate(rows):
                id = save(db, f"{number} {order}", session=f"s{number:02}").id
                age(db, id, f"2025-01-{created + 1:02}")
                if deleted:
                    observations.delete(db, id)
        engrams = db.execute(
            "SELECT s.id, count(o.id) FROM sessions AS s"
            " LEFT JOIN observations AS o ON o.session_id = s.id AND o.deleted_at IS NULL"
            " GROUP BY s.id ORDER BY max(coalesce(o.created_at, s.started_at)) DESC, s.id LIMIT :limit",
            {"limit": limit},
        ).fetchall()
        assert [(row.id, row.observation_count) for row in sessions.recent(db, limit=limit)] == engrams
        db.close()

    def test_many_observations_of_one_session_do_not_hide_the_others(self, empty: sqlite3.Connection) -> None:
        begin(empty, "busy", "2025-01-01")
        begin(empty, "calm", "2025-01-02")
        for number in range(600):
            age(empty, save(empty, f"t{number}", session="busy").id, "2025-06-01")
        assert [(row.id, row.observation_count) for row in sessions.recent(empty)] == [("busy", 600), ("calm", 0)]


class TestRemoval:
    def test_one_without_observations_goes_with_its_prompts(self, db: sqlite3.Connection) -> None:
        prompts.add(db, "s1", "hello")
        sessions.delete(db, "s1")
        assert sessions.get(db, "s1") is None
        assert prompts.recent(db) == []

    def test_one_with_observations_stays_even_if_they_are_deleted(self, db: sqlite3.Connection) -> None:
        observations.delete(db, save(db).id)
        with pytest.raises(sessions.SessionInUse, match=r"1 observation\(s\)"):
            sessions.delete(db, "s1")
        assert sessions.get(db, "s1")

    def test_one_that_is_not_there_is_not_found(self, db: sqlite3.Connection) -> None:
        with pytest.raises(NotFound, match="nobody"):
            sessions.delete(db, "nobody")


def begin(db: sqlite3.Connection, name: str, start: str, project: str = "p") -> None:
    sessions.create(db, name, project)
    db.execute("UPDATE sessions SET started_at = :start WHERE id = :name", {"start": start, "name": name})
