"""The working copies of projects on this machine: the folder of each project that a hook saw last. Never synced."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from anamnesis.disk import write_atomically
from anamnesis.notes.record import GLOBAL
from anamnesis.project import MARKER, Project, find_project

_FILE = "working-copies.json"
# Beyond this many, the projects that were added first are forgotten; their next session adds them again.
_MOST = 100


class KnownCopies(NamedTuple):
    """The working copies by project, and the projects whose working copy now has another key, with that key."""

    folders: dict[str, Path]
    renamed: dict[str, str]


def remember(home: Path, project: Project, folder: Path) -> None:
    """Save the working copy of a session, unless it is known.

    Without a lock and an fsync: if two hooks write at once, or the system crashes, the next session adds it again.
    """
    place = working_copy(project, folder)
    if place is None or project.key == GLOBAL:
        return
    known = _read(home)
    if known.pop(project.key, "") == str(place):
        return
    kept = [*known.items()][1 - _MOST :]
    with contextlib.suppress(OSError, UnicodeError):
        data = json.dumps(dict([*kept, (project.key, str(place))]), indent=1).encode()
        write_atomically(home / _FILE, data, mode=0o600, durable=False)


def working_copy(project: Project, folder: Path) -> Path | None:
    """The outermost folder of a git working copy that belongs to the project; None outside of any."""
    folder = folder.absolute()
    top = next((place for place in (folder, *folder.parents) if os.path.lexists(place / ".git")), None)
    if top and project.source.endswith(MARKER):
        marked = Path(project.source.removesuffix(MARKER))
        return marked if marked.is_relative_to(top) else top
    return top


def known_copies(home: Path, user_home: Path | None, is_wanted: Callable[[str], bool]) -> KnownCopies:
    """The working copies of wanted projects that still exist, each with its current key."""
    known = KnownCopies({}, {})
    for key, place in _read(home).items():
        folder = Path(place)
        if not is_wanted(key) or not os.path.lexists(folder):
            continue
        now = find_project(folder, home, user_home)
        if now.key == key and working_copy(now, folder):
            known.folders[key] = folder
        elif now.key != key:
            known.renamed[key] = now.key
    return known


def _read(home: Path) -> dict[str, str]:
    try:
        held = json.loads((home / _FILE).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    known = held if isinstance(held, dict) else {}
    return {key: place for key, place in known.items() if isinstance(place, str) and os.path.isabs(place)}
