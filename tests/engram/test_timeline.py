"""A timeline shows the neighbours of an observation in its session, in the order of their ids."""

from __future__ import annotations

import sqlite3

import pytest
from tests.engram.rows import save

from anamnesis.engram import observations, sessions
from anamnesis.engram.database import NotFound
from anamnesis.engram.gojson import dumps
from anamnesis.engram.timeline import timeline


@pytest.fixture(autouse=True)
def written(db: sqlite3.Connection) -> None:
    sessions.create(db, "s2", "engram")
    for number in range(1, 15):
        save(db, f"t{number}", session="s2" if number % 7 == 0 else "s1")
    observations.delete(db, 5)


def test_five_before_and_five_after_of_the_same_session_without_deleted_ones(db: sqlite3.Connection) -> None:
    found = timeline(db, 8)
    assert found.focus.id == 8
    assert [entry.id for entry in found.before] == [1, 2, 3, 4, 6]
    assert [entry.id for entry in found.after] == [9, 10, 11, 12, 13]
    assert found.total_in_range == 11
    assert found.session_info == sessions.get(db, "s1")
    assert not any(entry.is_focus for entry in (*found.before, *found.after))


@pytest.mark.parametrize(("before", "after", "shown"), [(1, 2, (1, 2)), (0, -1, (5, 3)), (100, 100, (7, 3))])
def test_the_numbers_can_be_given(db: sqlite3.Connection, before: int, after: int, shown: tuple[int, int]) -> None:
    found = timeline(db, 10, before, after)
    assert (len(found.before), len(found.after)) == shown


@pytest.mark.parametrize("id", [5, 99])
def test_one_that_is_deleted_or_not_there_is_refused_in_engrams_words(db: sqlite3.Connection, id: int) -> None:
    with pytest.raises(NotFound, match=f"timeline: observation #{id} not found: sql: no rows in result set"):
        timeline(db, id)


def test_on_the_wire_nothing_before_is_null_and_an_entry_has_no_identity(db: sqlite3.Connection) -> None:
    text = dumps(timeline(db, 1, 1, 1)).decode()
    assert '"before":null' in text
    assert text.count('"sync_id"') == 1
    assert '"is_focus":false}' in text
