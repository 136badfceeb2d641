"""Frequent queries of clients use an index: the work grows with the answer, not with the memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest
from tests.engram.rows import age, save

from anamnesis.engram import (
    observations,
    passive,
    projects,
    prompts,
    schema,
    search,
    sessions,
    sync_queue,
    timeline,
)

Question = Callable[[sqlite3.Connection], object]

LISTS: dict[str, Question] = {
    "recent": lambda db: observations.recent(db),
    "recent of a project": lambda db: observations.recent(db, "engram"),
    "recent of a scope": lambda db: observations.recent(db, scope="personal"),
    "recent of both": lambda db: observations.recent(db, "engram", "personal"),
    "recent prompts": lambda db: prompts.recent(db),
    "recent prompts of a project": lambda db: prompts.recent(db, "engram"),
    "timeline": lambda db: timeline.timeline(db, 2),
    "get": lambda db: observations.get(db, 1),
}
WORK: dict[str, Question] = {
    "topic": lambda db: save(db, topic_key="a/b"),
    "topic without a project": lambda db: save(db, topic_key="a/b", project=""),
    "repetition": lambda db: save(db, "t2", "c2"),
    "repetition without a project": lambda db: save(db, "t2", "c2", project=""),
    "passive": lambda db: passive.capture(db, "s1", "## Learnings\n- four words are enough here", "engram"),
    "update": lambda db: observations.update(db, 1, {"title": "x"}),
    "deletion": lambda db: observations.delete(db, 1),
    "end of a session": lambda db: sessions.end(db, "s1", "x"),
    "count of a project": lambda db: projects.count(db, "engram"),
    "state of the queue": lambda db: sync_queue.state(db),
}


def steps(db: sqlite3.Connection, question: Question) -> list[str]:
    """The steps that SQLite takes for every statement of a question, in its words."""
    asked: list[str] = []
    db.set_trace_callback(asked.append)
    question(db)
    db.set_trace_callback(None)
    statements = [each for each in asked if each.strip().startswith(("SELECT", "UPDATE", "INSERT", "DELETE", "WITH"))]
    return [step for each in statements for *_, step in db.execute(f"EXPLAIN QUERY PLAN {each}")]


def read_through(found: list[str]) -> list[str]:
    """The steps that read a whole table."""
    return [step for step in found if step.startswith("SCAN") and " USING " not in step and "CONSTANT" not in step]


@pytest.fixture(autouse=True)
def written(db: sqlite3.Connection) -> None:
    for number in range(3):
        save(db, f"t{number}", f"c{number} word")


@pytest.mark.parametrize("question", LISTS.values(), ids=LISTS.keys())
def test_a_list_is_read_from_an_index_in_its_order(db: sqlite3.Connection, question: Question) -> None:
    found = steps(db, question)
    assert found
    assert read_through(found) == []
    assert not any("TEMP B-TREE" in step for step in found), found


@pytest.mark.parametrize("question", WORK.values(), ids=WORK.keys())
def test_nothing_is_read_through_to_write(db: sqlite3.Connection, question: Question) -> None:
    found = steps(db, question)
    assert found
    assert read_through(found) == []
    assert not any(step.startswith("SCAN observations") for step in found), found


@pytest.mark.parametrize("options", [{}, {"project": "engram"}, {"type": "a", "scope": "project", "project": "engram"}])
def test_a_search_starts_at_the_words_and_reads_only_the_rows_it_returns(
    db: sqlite3.Connection, options: dict[str, str]
) -> None:
    asked = steps(db, lambda db: search.search(db, "word", **options))  # type: ignore[arg-type]
    found = [step for step in asked if "anamnesis_obs_superseded" not in step]  # an index of the superseded ones alone
    assert [step.split(" INDEX ")[0] for step in found if step.startswith("SCAN obs")] == [
        "SCAN observations_fts VIRTUAL TABLE"
    ] * 2
    searched = [step for step in found if step.startswith("SEARCH")]
    assert searched.count("SEARCH observations USING INTEGER PRIMARY KEY (rowid=?)") == 2
    looked_up = [step for step in searched if "PRIMARY KEY" not in step]
    of_no_project = [step for step in looked_up if "USING INDEX idx_obs_project (project=? AND rowid=?)" in step]
    assert len(of_no_project) == ("project" in options)  # of which the identity is read too
    looked_up = [step for step in looked_up if step not in of_no_project]
    assert len(looked_up) == 1 + len(options)
    assert all("COVERING INDEX idx_obs_" in step and "rowid=?" in step for step in looked_up), looked_up


def test_stats_step_from_project_to_project(db: sqlite3.Connection) -> None:
    found = steps(db, projects.stats)
    assert any("INDEX anamnesis_obs_project (project>?)" in step for step in found), found
    assert not any(step.startswith("SCAN observations") and "COVERING" not in step for step in found), found


def test_the_most_active_sessions_are_found_without_looking_at_the_others(db: sqlite3.Connection) -> None:
    for number in range(8):
        sessions.create(db, f"x{number}", "engram")
        age(db, save(db, f"x{number}", session=f"x{number}").id, f"2027-01-0{number + 1} 00:00:00")
    found = steps(db, sessions.recent)
    assert "SEARCH sessions USING INDEX sqlite_autoindex_sessions_1 (id=?)" in found
    assert "SEARCH sessions USING COVERING INDEX anamnesis_sessions_started (started_at>?)" in found
    assert not any("SCAN sessions" in step or "SCAN anamnesis" in step for step in found), found


def test_what_a_session_is_left_with_is_looked_up_in_an_index(db: sqlite3.Connection) -> None:
    """The statement of the triggers, of which SQLite tells no plan."""
    statement = "SELECT max(created_at) FROM observations WHERE session_id = 's1' AND deleted_at IS NULL"
    ((*_, step),) = db.execute(f"EXPLAIN QUERY PLAN {statement}")
    assert "INDEX anamnesis_obs_session (session_id=?)" in step


def test_opening_asks_an_index_that_is_usually_empty_for_unfinished_rows(db: sqlite3.Connection) -> None:
    found = steps(db, schema.is_unfinished)
    assert "SCAN observations USING INDEX anamnesis_obs_unfinished" in found
    assert read_through(found) == []
