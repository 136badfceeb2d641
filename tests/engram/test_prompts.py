"""Prompts are stored as given, except for private parts, and found again."""

from __future__ import annotations

import sqlite3

import pytest

from anamnesis.engram import prompts
from anamnesis.engram.database import NotFound, Refused


def test_the_same_prompt_may_be_saved_again(db: sqlite3.Connection) -> None:
    assert [prompts.add(db, "s1", "fix it", "Engram") for _ in range(2)] == [1, 2]


def test_private_parts_and_what_is_too_long_are_taken_out(db: sqlite3.Connection) -> None:
    prompts.add(db, "s1", " key <private>sk</private> end")
    prompts.add(db, "s1", "日" * 20_000)
    long, private = prompts.recent(db)
    assert private.content == "key [REDACTED] end"
    assert long.content == "日" * 16_666 + "... [truncated]"


def test_a_session_that_is_not_there_is_refused(db: sqlite3.Connection) -> None:
    with pytest.raises(Refused, match=r"FOREIGN KEY constraint failed \(787\)"):
        prompts.add(db, "ghost", "x")


def test_without_a_project_it_has_none_on_the_wire_and_an_empty_name_in_the_file(db: sqlite3.Connection) -> None:
    """So the next opening has nothing to fill in."""
    prompts.add(db, "s1", "x")
    assert prompts.recent(db)[0].project is None
    assert db.execute("SELECT project FROM user_prompts").fetchall() == [("",)]


def test_what_is_queued_is_what_engram_queues(db: sqlite3.Connection) -> None:
    prompts.add(db, "s1", "with", "P")
    prompts.add(db, "s1", "without")
    (first, second) = prompts.recent(db)[::-1]
    assert db.execute("SELECT entity_key, project, payload FROM sync_mutations WHERE entity = 'prompt'").fetchall() == [
        (first.sync_id, "p", f'{{"sync_id":"{first.sync_id}","session_id":"s1","content":"with","project":"p"}}'),
        (second.sync_id, "", f'{{"sync_id":"{second.sync_id}","session_id":"s1","content":"without"}}'),
    ]


def test_the_newest_come_first_twenty_of_them_and_the_id_breaks_ties(db: sqlite3.Connection) -> None:
    ids = [prompts.add(db, "s1", f"ask {number}", "a" if number % 2 else "b") for number in range(25)]
    db.execute("UPDATE user_prompts SET created_at = '2025-01-01 00:00:00'")
    assert [row.id for row in prompts.recent(db)] == ids[:4:-1]
    assert [row.id for row in prompts.recent(db, "B", 2)] == [ids[24], ids[22]]
    assert prompts.recent(db, "none") == []


class TestSearch:
    @pytest.fixture(autouse=True)
    def asked(self, db: sqlite3.Connection) -> None:
        for text in ("fix the panic in auth", "panic panic panic", "no project here"):
            prompts.add(db, "s1", text, "" if "no" in text else "engram")

    def test_all_words_have_to_be_there(self, db: sqlite3.Connection) -> None:
        assert [row.content for row in prompts.search(db, "panic auth")] == ["fix the panic in auth"]
        assert prompts.search(db, "panic missing") == []

    def test_the_best_come_first_ten_unless_a_number_is_given(self, db: sqlite3.Connection) -> None:
        assert [row.content for row in prompts.search(db, "panic")] == ["panic panic panic", "fix the panic in auth"]
        assert len(prompts.search(db, "panic", limit=1)) == 1
        for number in range(12):
            prompts.add(db, "s1", f"many {number}")
        assert len(prompts.search(db, "many")) == 10
        assert len(prompts.search(db, "many", limit=50)) == 12

    def test_the_project_is_normalised_unless_strict(self, db: sqlite3.Connection) -> None:
        assert len(prompts.search(db, "panic", "engram", strict=True)) == 2
        assert len(prompts.search(db, "panic", " ENGRAM")) == 2
        assert prompts.search(db, "panic", "ENGRAM", strict=True) == []

    @pytest.mark.parametrize("query", ["", " ", '"', "\0", 'foo"bar', "NEAR(", "\ud800"])
    def test_no_query_fails(self, db: sqlite3.Connection, query: str) -> None:
        assert prompts.search(db, query) == []


def test_one_is_removed_with_its_words(db: sqlite3.Connection) -> None:
    id = prompts.add(db, "s1", "needle")
    prompts.delete(db, id)
    assert prompts.search(db, "needle") == []
    with pytest.raises(NotFound, match=f"prompt #{id}"):
        prompts.delete(db, id)
