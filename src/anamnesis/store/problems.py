"""Queries of the index about files: which are not notes, which are duplicates, and which hold a note."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from anamnesis.store.files import TREES, describes_repository


class Problem(NamedTuple):
    """A file that is not a note, or not the one that stands for its id."""

    path: str
    line: int
    reason: str
    owner: str = ""  # the file that stands for the id, where there are two


def unreadable(db: sqlite3.Connection) -> list[Problem]:
    """Files that could not be read as notes, without those that describe the repository."""
    rows = db.execute(
        "SELECT f.path || '/' || name, line, problem FROM files JOIN folders f ON f.number = folder"
        " WHERE problem IS NOT NULL"
    )
    return [Problem(*row) for row in rows if not describes_repository(row[0].partition("/")[2])]


def _has_duplicates(db: sqlite3.Connection) -> bool:
    """Whether more files hold notes than there are notes. To find duplicates takes five times as long as to count."""
    query = "SELECT (SELECT count(memory_id) FROM files) > (SELECT count(*) FROM memories)"
    return bool(db.execute(query).fetchone()[0])


def problems(db: sqlite3.Connection) -> list[Problem]:
    """Files that could not be read as notes, and files whose note another file stands for."""
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
            reason = f"Its id is that of {other}, which is newer or in its proper place."
            found.append(Problem(path, 0, reason, other))
    return sorted(found, key=lambda problem: problem.path)


def paths_of(db: sqlite3.Connection, note_id: str) -> list[str]:
    """Every file that holds a note."""
    rows = db.execute(
        "SELECT folders.path || '/' || name FROM files JOIN folders ON folders.number = folder WHERE memory_id = :id",
        {"id": note_id},
    )
    return [row[0] for row in rows]
