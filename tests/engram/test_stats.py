"""The numbers, and the projects by their newest live observation."""

from __future__ import annotations

import sqlite3

from tests.engram.rows import age, save

from anamnesis.engram import observations, prompts
from anamnesis.engram.projects import stats
from anamnesis.engram.record import Stats


def test_an_empty_file_has_nothing(empty: sqlite3.Connection) -> None:
    assert stats(empty) == Stats(0, 0, 0, ())


def test_deleted_observations_and_their_projects_are_not_counted(db: sqlite3.Connection) -> None:
    for number, project in enumerate(("p1", "p2", "p3", "p3", "gone", "")):
        age(db, save(db, f"t{number}", project=project).id, f"2025-01-0{number + 1} 00:00:00")
    observations.delete(db, 5)
    prompts.add(db, "s1", "x")
    assert stats(db) == Stats(1, 5, 1, ("p3", "p2", "p1"))


def test_of_projects_of_the_same_second_the_later_name_comes_first(db: sqlite3.Connection) -> None:
    for number, project in enumerate(("b", "ä", "a", "B")):
        age(db, save(db, f"t{number}", project=project).id, "2025-01-01 00:00:00")
    assert stats(db).projects == ("ä", "b", "a")


def test_an_empty_name_is_a_project_as_in_engram(db: sqlite3.Connection) -> None:
    save(db)
    db.execute("UPDATE observations SET project = ''")
    assert stats(db).projects == ("",)
