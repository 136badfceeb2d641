"""A search finds the live observations that hold all words, ranked as FTS5 ranks them, and no query makes it fail."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engram.rows import age, save

from anamnesis.engram import observations, sessions
from anamnesis.engram.database import connect, prepare
from anamnesis.engram.search import search


def ids(db: sqlite3.Connection, query: str, **options: str | int | bool) -> list[int]:
    return [found.id for found in search(db, query, **options)]  # type: ignore[arg-type]


class TestNotesOfNoProject:
    """They are about every project; of what Engram saved without one, it finds nothing by a project."""

    @pytest.fixture(autouse=True)
    def written(self, db: sqlite3.Connection) -> None:
        for number in range(200):
            save(db, f"Other {number}", "panic", project="other")
        for title, project, digits in (("of shop", "shop", 16), ("of none", None, 16), ("a note", None, 32)):
            saved = save(db, title, "panic and more words")
            db.execute(
                "UPDATE observations SET project = ?, sync_id = 'obs-' || printf('%0*x', ?, id) WHERE id = ?",
                (project, digits, saved.id),
            )

    def test_they_are_found_by_every_project(self, db: sqlite3.Connection) -> None:
        assert {found.title for found in search(db, "panic", project="shop")} == {"of shop", "a note"}
        assert {found.title for found in search(db, "panic", project="global")} == {"a note"}

    def test_what_engram_saved_without_a_project_is_not_in_their_way(self, db: sqlite3.Connection) -> None:
        for number in range(200):
            saved = save(db, f"None {number}", "panic")
            db.execute("UPDATE observations SET project = NULL WHERE id = ?", (saved.id,))
        assert {found.title for found in search(db, "panic", project="shop")} == {"of shop", "a note"}

    def test_other_filters_hold_for_them(self, db: sqlite3.Connection) -> None:
        assert search(db, "panic", project="shop", type="bugfix") == []
        db.execute("UPDATE observations SET deleted_at = datetime('now') WHERE title = 'a note'")
        assert {found.title for found in search(db, "panic", project="shop")} == {"of shop"}


class TestWords:
    @pytest.fixture(autouse=True)
    def written(self, db: sqlite3.Connection) -> None:
        texts = (
            "The parser panics on an empty token",
            "Panic in the auth middleware when the token is empty",
            "naïve café résumé",
            "error: foo_bar.baz(qux) at src/auth/token.py:42",
            "C++ and C# and Go",
        )
        for number, text in enumerate(texts):
            save(db, f"Note {number}", text, type="bugfix" if number == 1 else "decision")

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("panic", [2]), ("PANIC", [2]), ("panics", [1]), ("empty token", [1, 2]), ("panic missing", []),
            ("naive cafe", [3]), ("foo_bar.baz", [4]), ("baz.foo", []), ("c++", [5]), ('"panic"', [2]), ('"""', []),
            ("panic*", [2]), ("-panic", [2]), ("^panic", [2]), ("{panic}", [2]), ("title:panic", []), ("NOT panic", []),
            ("panic OR go", []), ("NEAR(panic token)", []), ("  panic\t\n", [2]), ("bugfix", [2]), ("engram go", [5]),
        ],
    )  # fmt: skip
    def test_words_are_words_and_never_operators(self, db: sqlite3.Connection, query: str, found: list[int]) -> None:
        assert sorted(ids(db, query)) == found

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ('foo"bar', [4]), ("panic\0in", [2]), ("", []), (" \u00a0", []), ("\0", []), ("\udcff\udcfe", []),
            ('"panic', [2]), ("\ud800 panic", [2]),
        ],
    )  # fmt: skip
    def test_quotes_blanks_and_nul_find_what_they_mean_where_engram_fails(
        self, db: sqlite3.Connection, query: str, found: list[int]
    ) -> None:
        assert ids(db, query) == found

    def test_any_word_may_suffice(self, db: sqlite3.Connection) -> None:
        assert sorted(ids(db, "panic café missing", match_any=True)) == [2, 3]

    def test_the_rank_is_bm25_and_the_lowest_is_the_best(self, db: sqlite3.Connection) -> None:
        found = search(db, "empty token")
        fts = db.execute("SELECT rowid, rank FROM observations_fts('empty token') ORDER BY rank").fetchall()
        assert [(row.id, row.rank) for row in found] == fts
        assert found[0].rank < found[1].rank < 0

    def test_deleted_ones_are_not_found_but_count_in_the_rank(self, db: sqlite3.Connection) -> None:
        """As in Engram, whose index keeps their words."""
        before = {row.id: row.rank for row in search(db, "empty")}
        observations.delete(db, 1)
        assert {row.id: row.rank for row in search(db, "empty")} == {2: before[2]}

    def test_a_query_of_ten_thousand_words_is_answered(self, db: sqlite3.Connection) -> None:
        assert ids(db, "panic " * 10_000) == [2]
        assert ids(db, " ".join(f"w{number}" for number in range(10_000))) == []
        assert ids(db, " ".join(f"w{number}" for number in range(10_000)) + " go", match_any=True) == [5]

    def test_a_repeated_word_weighs_as_often_as_in_engram(self, db: sqlite3.Connection) -> None:
        (once,), (twice,) = search(db, "panic"), search(db, "panic panic")
        assert twice.rank == pytest.approx(2 * once.rank)


class TestFilters:
    @pytest.fixture(autouse=True)
    def written(self, db: sqlite3.Connection) -> None:
        save(db, "1", "word", type="a")
        save(db, "2", "word", type="b", scope="personal")
        save(db, "3", "word", type="a", project="other")
        save(db, "4", "word", type="a", project="")

    @pytest.mark.parametrize(
        ("options", "found"),
        [
            ({}, [1, 2, 3, 4]), ({"type": "a"}, [1, 3, 4]), ({"type": "A"}, []), ({"project": " Engram "}, [1, 2]),
            ({"scope": "PERSONAL"}, [2]), ({"scope": "nonsense"}, [1, 3, 4]), ({"project": "none"}, []),
            ({"type": "a", "project": "engram", "scope": "project"}, [1]), ({"type": "b", "scope": "project"}, []),
        ],
    )  # fmt: skip
    def test_each_narrows_what_is_found(
        self, db: sqlite3.Connection, options: dict[str, str], found: list[int]
    ) -> None:
        assert sorted(ids(db, "word", **options)) == found

    @pytest.mark.parametrize(
        "options", [{}, {"project": "rare"}, {"type": "rare"}, {"scope": "personal"}, {"type": "b"}]
    )
    @pytest.mark.parametrize("deleted", ["FALSE", "id < 250", "id % 7 <> 0", "id < 100 AND id % 2 = 0"])
    def test_among_hundreds_of_hits_the_same_are_found_as_by_engrams_own_query(
        self, db: sqlite3.Connection, options: dict[str, str], deleted: str
    ) -> None:
        for number in range(300):
            rare = number % 97 == 50
            save(
                db, f"t{number}", "word " * (1 + number % 5) + f"other{number}", type="rare" if rare else "a",
                project="rare" if rare else "engram", scope="personal" if number % 53 == 0 else "",
            )  # fmt: skip
        db.execute(f"UPDATE observations SET deleted_at = '2025' WHERE {deleted}")
        conditions = "".join(f" AND o.{name} = :{name}" for name in options)
        engrams = db.execute(
            "SELECT o.id, fts.rank FROM observations_fts AS fts JOIN observations AS o ON o.id = fts.rowid"
            f" WHERE observations_fts MATCH 'word' AND o.deleted_at IS NULL {conditions}"
            " ORDER BY fts.rank, o.id LIMIT 20",
            options,
        ).fetchall()
        assert [(row.id, row.rank) for row in search(db, "word", limit=20, **options)] == engrams  # type: ignore[arg-type]


class TestNumber:
    @pytest.fixture(autouse=True)
    def written(self, db: sqlite3.Connection) -> None:
        for number in range(30):
            save(db, f"t{number}", "common word")

    @pytest.mark.parametrize(("limit", "number"), [(0, 10), (-1, 10), (3, 3), (20, 20), (100, 20)])
    def test_ten_unless_a_number_is_given_and_never_more_than_twenty(
        self, db: sqlite3.Connection, limit: int, number: int
    ) -> None:
        assert len(ids(db, "common", limit=limit)) == number

    def test_the_lowest_id_comes_first_among_equals(self, db: sqlite3.Connection) -> None:
        assert ids(db, "common", limit=20) == [*range(1, 21)]


class TestTopic:
    @pytest.fixture(autouse=True)
    def written(self, db: sqlite3.Connection) -> None:
        for number, project in enumerate(("b", "a", "a", "c"), 1):
            save(db, f"t{number}", f"c{number}", project=project, type="x")
            db.execute("UPDATE observations SET topic_key = 'auth/token' WHERE id = :id", {"id": number})
            age(db, number, "2025-01-02 00:00:00" if number == 4 else "2025-01-01 00:00:00")
        save(db, "words", "the auth token is empty, see auth/token")

    def test_the_exact_key_comes_first_newest_first_then_the_words(self, db: sqlite3.Connection) -> None:
        found = search(db, "auth/token")
        assert [(row.id, row.rank) for row in found[:4]] == [(4, -1000), (2, -1000), (3, -1000), (1, -1000)]
        assert found[4].id == 5
        assert len(found) == 5

    def test_a_key_in_another_form_is_only_words(self, db: sqlite3.Connection) -> None:
        assert {row.id for row in search(db, "Auth/Token")} == {1, 2, 3, 4, 5}
        assert all(row.rank > -1000 for row in search(db, "Auth/Token"))

    def test_the_filters_and_the_number_hold_for_it_too(self, db: sqlite3.Connection) -> None:
        assert ids(db, "auth/token", project="a") == [2, 3]
        assert ids(db, "auth/token", type="y") == []
        assert ids(db, "auth/token", limit=2) == [4, 2]
        assert ids(db, "auth/token", scope="personal") == []

    def test_a_key_that_is_no_word_is_found_all_the_same(self, db: sqlite3.Connection) -> None:
        db.execute("UPDATE observations SET topic_key = '/' WHERE id = 1")
        assert ids(db, "/") == [1]


@given(st.text(), st.booleans())
def test_no_query_makes_a_search_fail(shared: sqlite3.Connection, query: str, match_any: bool) -> None:
    assert len(search(shared, query, match_any=match_any)) <= 10


@given(st.text(alphabet="\"\0'*^:(){}+-/ \t\ufffdaNEARORANDNOT", max_size=40), st.booleans())
def test_no_mixture_of_operators_makes_a_search_fail(shared: sqlite3.Connection, query: str, match_any: bool) -> None:
    assert len(search(shared, query, match_any=match_any)) <= 10


@given(st.text(alphabet="abc .-_/", min_size=1).filter(lambda text: any(c in text for c in "abc")))
def test_every_observation_is_found_by_its_own_words(shared: sqlite3.Connection, content: str) -> None:
    id = save(shared, "t", content).id
    try:
        assert id in ids(shared, content, limit=20) or len(ids(shared, content, limit=20)) == 20
    finally:
        observations.delete(shared, id, hard=True)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    """One file for all examples of a property."""
    path = tmp_path_factory.mktemp("search") / "engram.db"
    prepare(path)
    with contextlib.closing(connect(path)) as db:
        sessions.create(db, "s1", "engram")
        for number in range(20):
            save(db, f"title {number}", f"a b c NEAR or {number}")
        yield db
