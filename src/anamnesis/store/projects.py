"""The names of one project: a full key such as host/owner/name, and the short name that other programs use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from anamnesis.errors import InvalidArgument
from anamnesis.notes.record import GLOBAL
from anamnesis.store.index import Connection
from anamnesis.store.queries import Filter


def names_of(asked: str, known: Iterable[str]) -> list[str]:
    """The known names of a project: the given one, and its short name or its only full key.

    A short name that several full keys end in is a project of its own. Case does not matter in short names.
    """
    if asked == GLOBAL:
        return [name for name in known if name == asked]
    alike = [name for name in known if _last_part(name) == _last_part(asked) != "" and name != GLOBAL]
    is_one = len({name for name in [*alike, asked] if "/" in name}) <= 1
    same = [name for name in alike if is_one or ("/" not in name and "/" not in asked)]
    return [name for name in known if name == asked or name in same]


def by_any_name(db: Connection, wanted: Filter) -> Filter:
    """The same filter, with every name that the project has in the index."""
    if wanted.project is None:
        return wanted
    names = names_of(wanted.project, projects_of(db).get(_last_part(wanted.project), []))
    return wanted if names in ([], [wanted.project]) else replace(wanted, project=names[0], names=tuple(names))


def check_project(db: Connection, asked: str) -> None:
    """Refuse a short name that several full keys end in, unless notes have it as their project."""
    refuse_ambiguous(asked, projects_of(db).get(_last_part(asked), []))


def refuse_ambiguous(asked: str, projects: Iterable[str]) -> None:
    """Refuse a short name that several of these projects end in, unless it is one of them."""
    known = [name for name in projects if _last_part(name) == _last_part(asked)]
    if "/" not in asked and len(known) > 1 and not names_of(asked, known):
        from anamnesis.plural import listed  # only for this error

        raise InvalidArgument(
            f"{asked!r} is the short name of {len(known)} projects: {listed(sorted(known))}.",
            "Give the full key of one.",
        )


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
