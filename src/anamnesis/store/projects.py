"""The names of one project: a full key such as host/owner/name, and the short name that other programs use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from anamnesis.errors import InvalidArgument
from anamnesis.notes.project_names import comparable
from anamnesis.notes.record import GLOBAL
from anamnesis.store.index import Connection
from anamnesis.store.queries import Filter


def names_of(asked: str, known: Iterable[str]) -> list[str]:
    """The known names of a project: the given one in any spelling, and its short name or its only full key.

    A short name that several full keys end in is a project of its own.
    """
    last = _last_part(asked)
    names = [name for name in known if name == asked or _last_part(name) == last]
    of = _identities({*names, asked})
    return [name for name in names if of[name] == of[asked]]


def shown_names(known: Collection[str]) -> dict[str, str]:
    """For each of the known names the one under which its project is listed: the full key if there is one."""
    of = _identities(known)
    shown: dict[str, str] = {}
    for name in sorted(known, key=lambda name: ("/" not in name, name)):
        shown.setdefault(of[name], name)
    return {name: shown[of[name]] for name in known}


def one_each(known: Collection[str]) -> list[str]:
    """One name for each of the projects."""
    return sorted({*shown_names(known).values()})


def counts_by_project(counts: Mapping[str, int]) -> dict[str, int]:
    """Counts by name as counts by project."""
    found = defaultdict[str, int](int)
    for name, shown in shown_names(counts).items():
        found[shown] += counts[name]
    return dict(found)


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

        several = one_each(known)  # a key may be there in several spellings
        raise InvalidArgument(
            f"{asked!r} is the short name of {len(several)} projects: {listed(several)}.",
            "Give the full key of one.",
        )


def projects_of(db: Connection) -> dict[str, list[str]]:
    """The names of the projects of all notes, by their last parts."""
    learned = db.learned()
    if learned.projects is None:
        learned.projects = _projects(db)
    return learned.projects


def all_projects(db: Connection) -> list[str]:
    """The names of the projects of all notes."""
    return [name for names in projects_of(db).values() for name in names]


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


def _identities(names: Collection[str]) -> dict[str, str]:
    """What the names of one project have in common: the last part, or the full key if several end in that part."""
    keys = defaultdict[str, set[str]](set)
    for name in names:
        if "/" in name:
            keys[_last_part(name)].add(comparable(name))
    return {name: _identity(name, keys) for name in names}


def _identity(name: str, keys: Mapping[str, Collection[str]]) -> str:
    last = _last_part(name)
    if name == GLOBAL or not last:
        return name
    is_one = len(keys.get(last, ())) <= 1
    return f"\0{last}" if is_one or "/" not in name else comparable(name)


def _last_part(name: str) -> str:
    return comparable(name).rpartition("/")[2]
