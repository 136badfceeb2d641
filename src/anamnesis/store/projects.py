"""The names of one project: a full key such as host/owner/name, and the short name that other programs use."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from anamnesis.project import GLOBAL
from anamnesis.store.index import Connection
from anamnesis.store.queries import Filter


def is_same(one: str, other: str) -> bool:
    """Whether two names are of one project: equal, or one the last part of the other; two full keys never are."""
    if one == other:
        return True
    if GLOBAL in (one, other) or ("/" in one and "/" in other):
        return False
    return _last_part(one) == _last_part(other) != ""


def by_any_name(db: Connection, wanted: Filter) -> Filter:
    """The same filter, with every name that the project has in the index."""
    if wanted.project is None:
        return wanted
    known = projects_of(db).get(_last_part(wanted.project), [])
    names = [name for name in known if is_same(name, wanted.project)]
    return wanted if names in ([], [wanted.project]) else replace(wanted, project=names[0], names=tuple(names))


def projects_of(db: Connection) -> dict[str, list[str]]:
    """The projects of all notes, by the last part of their names."""
    learned = db.learned()
    if learned.projects is None:
        learned.projects = _projects(db)
    return learned.projects


def _projects(db: Connection) -> dict[str, list[str]]:
    """One index lookup per project."""
    rows = db.execute(
        "WITH RECURSIVE projects (name) AS ("
        " SELECT min(project) FROM memories WHERE deleted_at IS NULL"
        " UNION ALL SELECT (SELECT min(project) FROM memories WHERE project > name AND deleted_at IS NULL)"
        " FROM projects WHERE name IS NOT NULL)"
        " SELECT name FROM projects WHERE name IS NOT NULL"
    )
    found = defaultdict[str, list[str]](list)
    for (name,) in rows:
        found[_last_part(name)].append(name)
    return dict(found)


def _last_part(name: str) -> str:
    return name.rpartition("/")[2].lower()
