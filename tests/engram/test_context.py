"""The context is laid out as Engram lays it out, to the last blank line."""

from __future__ import annotations

import sqlite3

import pytest
from tests.engram.rows import age, save

from anamnesis.engram import prompts, sessions
from anamnesis.engram.context import context


def test_nothing_to_tell_is_an_empty_text(empty: sqlite3.Connection) -> None:
    assert context(empty) == ""


@pytest.fixture
def told(db: sqlite3.Connection) -> sqlite3.Connection:
    sessions.end(db, "s1", "é" * 201)
    db.execute("UPDATE sessions SET started_at = '2025-01-01 00:00:00'")
    prompts.add(db, "s1", "first\nline " + "p" * 300, "engram")
    db.execute("UPDATE user_prompts SET created_at = '2025-01-02 00:00:00'")
    age(db, save(db, "Long", "日" * 301, type="bugfix").id, "2025-01-03 00:00:00")
    age(db, save(db, "Mine", "two\nlines", type="decision", scope="personal").id, "2025-01-04 00:00:00")
    return db


def test_sessions_then_prompts_then_observations_each_cut_to_its_length(told: sqlite3.Connection) -> None:
    assert context(told) == (
        "## Memory from Previous Sessions\n\n"
        "### Recent Sessions\n"
        f"- **engram** (2025-01-01 00:00:00): {'é' * 200}... [2 observations]\n\n"
        "### Recent User Prompts\n"
        f"- 2025-01-02 00:00:00: first\nline {'p' * 189}...\n\n"
        "### Recent Observations\n"
        "- [decision] **Mine**: two\nlines\n"
        f"- [bugfix] **Long**: {'日' * 300}...\n\n"
    )


def test_compact_has_only_titles_of_observations(told: sqlite3.Connection) -> None:
    compact = context(told, compact=True)
    assert compact.endswith("### Recent Observations\n- [decision] **Mine**\n- [bugfix] **Long**\n\n")
    assert compact.split("### Recent Obs")[0] == context(told).split("### Recent Obs")[0]


def test_the_limit_and_the_scope_are_those_of_the_observations(told: sqlite3.Connection) -> None:
    assert context(told, limit=1, compact=True).count("- [") == 1
    assert "Long" not in context(told, scope="personal")
    assert "### Recent User Prompts" in context(told, scope="personal")


def test_a_project_narrows_all_of_it(told: sqlite3.Connection) -> None:
    sessions.create(told, "s2", "other")
    assert context(told, "OTHER").startswith("## Memory from Previous Sessions\n\n### Recent Sessions\n- **other** (")
    assert context(told, "OTHER").count("###") == 1
    assert context(told, "nobody") == ""


def test_there_are_five_sessions_ten_prompts_and_twenty_observations(db: sqlite3.Connection) -> None:
    for number in range(30):
        sessions.create(db, f"x{number}", "engram")
        prompts.add(db, "s1", f"ask {number}")
        save(db, f"t{number}")
    sections = context(db).split("###")
    assert [section.count("\n- ") for section in sections] == [0, 5, 10, 20]
    assert context(db, limit=100).count("- [") == 30
