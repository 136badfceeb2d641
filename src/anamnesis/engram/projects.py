"""Projects: the form of their names, listing, renaming, merging and pruning; and counts of everything."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from anamnesis.engram.database import Refused, writing
from anamnesis.engram.record import MergeResult, MigrateResult, Stats
from anamnesis.engram.strings import to_lower, trim_space, valid
from anamnesis.engram.sync_queue import enqueue_project

_REPEATED = re.compile("-{2,}|_{2,}")
_TABLES = ("observations", "sessions", "user_prompts")
_LEAST_SUBSTRING = 3
_MOST_DISTANCE = 3

# The projects with live observations, by skipping through the index: one step per project, not per observation.
WITH_NAMES = """
    WITH RECURSIVE names(name) AS (
        SELECT (SELECT project FROM observations INDEXED BY anamnesis_obs_project
            WHERE deleted_at IS NULL AND project >= '' ORDER BY project LIMIT 1)
        UNION ALL
        SELECT (SELECT project FROM observations INDEXED BY anamnesis_obs_project
            WHERE deleted_at IS NULL AND project > name ORDER BY project LIMIT 1)
        FROM names WHERE name IS NOT NULL
    )
"""


_BY_ACTIVITY = f"""
    {WITH_NAMES}
    SELECT name FROM names WHERE name IS NOT NULL ORDER BY (
        SELECT max(created_at) FROM observations INDEXED BY anamnesis_obs_project
        WHERE deleted_at IS NULL AND project = name
    ) DESC, name DESC
"""


@dataclass(frozen=True, slots=True)
class ProjectStats:
    """Counts of a project, and the folders of its sessions."""

    name: str
    observation_count: int
    session_count: int
    prompt_count: int
    directories: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PruneResult:
    project: str
    sessions_deleted: int
    prompts_deleted: int


# A row that is saved and becomes a note has its project normalised four times.
@lru_cache(maxsize=64)
def normalise(name: str) -> str:
    """The name in lower case, trimmed, with single dashes and underscores."""
    return _REPEATED.sub(lambda run: run[0][0], trim_space(to_lower(name)))


def meant(db: sqlite3.Connection, project: str) -> str:
    """The project that a client names: by its name, or by a note's project key that ends with the name."""
    name = normalise(project)
    if "/" not in name or any(
        db.execute(f"SELECT 1 FROM {table} WHERE project = :name LIMIT 1", {"name": name}).fetchone()
        for table in _TABLES
    ):
        return name
    return short_name(name)


def short_name(key: str) -> str:
    """Engram's name for a project key such as host/owner/name: its last part."""
    return normalise(key.rstrip("/").rpartition("/")[2])


def names(db: sqlite3.Connection) -> list[str]:
    """The projects with live observations, by name."""
    return [name for (name,) in db.execute(f"{WITH_NAMES} SELECT name FROM names WHERE name > '' ORDER BY name")]


def count(db: sqlite3.Connection, name: str) -> int:
    """The number of a project's live observations."""
    (number,) = db.execute(
        "SELECT count(*) FROM observations INDEXED BY anamnesis_obs_project"
        " WHERE deleted_at IS NULL AND project = :name",
        {"name": valid(name)},
    ).fetchone()
    return int(number)


def stats(db: sqlite3.Connection) -> Stats:
    """The numbers of sessions, live observations and prompts, and the projects, the most recently active first."""
    # Counting all rows and the few deleted ones is several times faster than counting the live ones.
    sessions, observations, prompts = db.execute(
        "SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM observations)"
        " - (SELECT count(*) FROM observations WHERE deleted_at IS NOT NULL), (SELECT count(*) FROM user_prompts)"
    ).fetchone()
    return Stats(sessions, observations, prompts, tuple(name for (name,) in db.execute(_BY_ACTIVITY)))


def listing(db: sqlite3.Connection) -> list[ProjectStats]:
    """All projects with any rows, by descending number of observations."""
    observed = _counts(db, "observations INDEXED BY anamnesis_obs_project", "AND deleted_at IS NULL")
    begun = _counts(db, "sessions")
    asked = _counts(db, "user_prompts")
    directories: dict[str, list[str]] = {}
    for name, directory in db.execute(
        "SELECT DISTINCT project, directory FROM sessions WHERE directory <> '' ORDER BY directory"
    ):
        directories.setdefault(name, []).append(directory)
    found = (
        ProjectStats(
            name, observed.get(name, 0), begun.get(name, 0), asked.get(name, 0), tuple(directories.get(name, ()))
        )
        for name in observed | begun | asked
    )
    return sorted(found, key=lambda project: (-project.observation_count, project.name))


def similar(db: sqlite3.Connection, name: str) -> list[str]:
    """The projects with live observations and a similar name, the most similar first."""
    return similar_names(name, names(db))


def similar_names(name: str, others: Iterable[str]) -> list[str]:
    """The similar names: equal except for case, containing one another, or within a few typos."""
    plain = trim_space(to_lower(name))
    likenesses = ((_likeness(plain, trim_space(to_lower(other))), other) for other in others if other != name)
    return [other for _, other in sorted((likeness, other) for likeness, other in likenesses if likeness)]


def migrate(db: sqlite3.Connection, old: str, new: str, *, strict: bool = False) -> MigrateResult:
    """Rename a project: rows under its normal name, and rows that were stored under the old name as it is given.

    If `strict`, both names are taken literally.
    """
    target = valid(new) if strict else normalise(new)
    spellings = dict.fromkeys((valid(old),) if strict else (valid(old), normalise(old)))
    sources = [name for name in spellings if name not in ("", target)]
    if not sources or not target:
        return MigrateResult(False, 0, 0, 0)
    with writing(db):
        moved = _totals(_rename(db, name, target) for name in sources)
        if any(moved):
            enqueue_project(db, target)
    return MigrateResult(any(moved), *moved)


def merge(db: sqlite3.Connection, sources: Iterable[str], target: str) -> MergeResult:
    """Move all rows of some projects to one."""
    canonical = normalise(target)
    if not canonical:
        raise Refused("canonical project name must not be empty")
    merged = [name for name in map(normalise, sources) if name not in ("", canonical)]
    with writing(db):
        moved = _totals(_rename(db, name, canonical) for name in merged)
        enqueue_project(db, canonical)
    return MergeResult(canonical, tuple(merged), *moved)


def prune(db: sqlite3.Connection, name: str) -> PruneResult:
    """Delete the prompts and sessions of a project without live observations; sessions in use elsewhere stay."""
    if not name:
        raise Refused("project name must not be empty")
    values = {"name": valid(name)}
    with writing(db):
        if number := count(db, name):
            raise Refused(f'project "{name}" still has {number} observations — cannot prune')
        prompts = db.execute("DELETE FROM user_prompts WHERE project = :name", values).rowcount
        sessions = db.execute(
            "DELETE FROM sessions WHERE project = :name"
            " AND NOT EXISTS (SELECT 1 FROM observations WHERE session_id = sessions.id)"
            " AND NOT EXISTS (SELECT 1 FROM user_prompts WHERE session_id = sessions.id)",
            values,
        ).rowcount
    return PruneResult(name, sessions, prompts)


def _rename(db: sqlite3.Connection, old: str, new: str) -> list[int]:
    """Rename; returns the numbers of changed observations, sessions and prompts."""
    values = {"old": old, "new": new}
    return [db.execute(f"UPDATE {table} SET project = :new WHERE project = :old", values).rowcount for table in _TABLES]


def _totals(renamed: Iterable[list[int]]) -> list[int]:
    return [sum(column) for column in zip(*renamed, strict=True)] or [0, 0, 0]


def _counts(db: sqlite3.Connection, table: str, condition: str = "") -> dict[str, int]:
    return dict(
        db.execute(f"SELECT project, count(*) FROM {table} WHERE project > '' {condition} GROUP BY project").fetchall()
    )


def _likeness(name: str, other: str) -> tuple[int, int] | None:
    """A sort key for the similarity of two names, lower is more similar; None if they differ too much."""
    if name == other:
        return 0, 0
    size = len(name.encode())  # Go counts bytes
    if size >= _LEAST_SUBSTRING and (name in other or other in name):
        return 1, 0
    distance = _distance(name, other)
    return (2, distance) if distance <= min(_MOST_DISTANCE, max(1, size // 2)) else None


def _distance(name: str, other: str) -> int:
    """The edit distance; above _MOST_DISTANCE only some larger number.

    Only the diagonal band of that width is computed.
    """
    far = _MOST_DISTANCE + 1
    if abs(len(name) - len(other)) >= far:
        return far
    row = {place: place for place in range(min(len(other), far) + 1)}
    for number, character in enumerate(name, 1):
        previous, row = row, {}
        for place in range(max(0, number - far), min(len(other), number + far) + 1):
            changed = previous.get(place - 1, far) + (place > 0 and character != other[place - 1])
            row[place] = min(previous.get(place, far) + 1, row.get(place - 1, far) + 1, changed)
        if min(row.values()) >= far:
            return far
    return row[len(other)]
