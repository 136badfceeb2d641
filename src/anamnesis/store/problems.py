"""Queries of the index for files that are not notes, for duplicates, and for the files of a note."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from anamnesis.store.files import TREES, describes_repository


class Problem(NamedTuple):
    """A file that is not a note, or is not the standing file of its note."""

    path: str
    line: int
    reason: str
    owner: str = ""  # the standing file, where two files have the id


def unreadable(db: sqlite3.Connection) -> list[Problem]:
    """Files that could not be read as notes, without those that describe the repository."""
    rows = db.execute(
        "SELECT f.path || '/' || name, line, problem FROM files JOIN folders f ON f.number = folder"
        " WHERE problem IS NOT NULL"
    )
    return [Problem(*row) for row in rows if not describes_repository(row[0].partition("/")[2])]


def _has_duplicates(db: sqlite3.Connection) -> bool:
    """Whether more files hold notes than there are notes. Counting takes a fifth of the time of finding duplicates."""
    query = "SELECT (SELECT count(memory_id) FROM files) > (SELECT count(*) FROM memories)"
    return bool(db.execute(query).fetchone()[0])


def problems(db: sqlite3.Connection) -> list[Problem]:
    """Files that could not be read as notes, and duplicates: files whose note has another standing file."""
    found = unreadable(db)
    if not _has_duplicates(db):
        return sorted(found, key=lambda problem: problem.path)
    repeated = db.execute(
        "SELECT f.path || '/' || name AS path, m.scope, m.body_path FROM files"
        " JOIN folders f ON f.number = folder JOIN memories m ON m.id = memory_id"
        " WHERE memory_id IN (SELECT memory_id FROM files GROUP BY memory_id HAVING count(*) > 1)"
    )
    for path, scope, body_path in repeated:
        other = f"{TREES[scope]}/{body_path}"
        if path != other:
            reason = f"It has the same id as {other}, which is newer or in its proper place."
            found.append(Problem(path, 0, reason, other))
    return sorted(found, key=lambda problem: problem.path)


def paths_of(db: sqlite3.Connection, note_id: str) -> list[str]:
    """Every file that holds a note."""
    rows = db.execute(
        "SELECT folders.path || '/' || name FROM files JOIN folders ON folders.number = folder WHERE memory_id = :id",
        {"id": note_id},
    )
    return [row[0] for row in rows]
