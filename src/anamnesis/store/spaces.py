"""Which notes go to a shared space of a hub by way of their project, and which wait for the user to share them.

A note goes there because its text names the space, which is written into it when it is created by a program that says
so. A note of the project that names no space is the user's own: it is older than the space, or comes from elsewhere.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from anamnesis.notes import Memory
from anamnesis.notes.project_names import comparable, is_among
from anamnesis.notes.record import GLOBAL
from anamnesis.notes.spaces import is_shared, space_of, with_space

if TYPE_CHECKING:
    from anamnesis.store.store import MemoryStore

_PORTABLE = "portable"
# The login of the exchange with the hub.
_LOGIN = "hub.json"


class Unshared(NamedTuple):
    """The user's own notes of a project, and the shared spaces that have the project."""

    project: str
    spaces: list[str]
    notes: list[str]


def spaces_of_project(store: MemoryStore, project: str) -> list[str]:
    """The shared spaces that the project belongs to and that the user may write to, as of the last exchange.

    None after a logout: the next login may be another user's, or at another hub. None if the user has given the project
    to their own space.
    """
    is_any = project != GLOBAL and store.has_shared and os.path.exists(f"{store.root}/{_LOGIN}")
    spaces = store.shared.spaces_for(project) if is_any else []
    return spaces if all(map(is_shared, spaces)) else []


def space_of_project(store: MemoryStore, project: str) -> str:
    """The one shared space that gets the user's new notes of a project; "" if none has it, or several."""
    spaces = spaces_of_project(store, project)
    return spaces[0] if len(spaces) == 1 else ""


def in_space_of_project(store: MemoryStore, note: Memory) -> Memory:
    """A new note with a line for the one shared space that its project belongs to; the caller says where it goes.

    If several spaces have the project, the note is the user's own.
    """
    if note.scope != _PORTABLE or space_of(note):
        return note
    space = space_of_project(store, note.project)
    return with_space(note, space) if space else note


def lines_of_project(store: MemoryStore, project: str, scope: str, extra: dict[str, str]) -> dict[str, str]:
    """The front-matter lines of a new note, with one for the space as `in_space_of_project` gives it."""
    draft = Memory("", "semantic", "", "", project=project, scope=scope, extra=extra)
    return in_space_of_project(store, draft).extra


def shared_space_of(store: MemoryStore, note: Memory) -> str:
    """The shared space that a note is in or goes to; "" if it is the user's own, or stays on this machine."""
    if note.scope != _PORTABLE:
        return ""
    if named := space_of(note):
        return named if is_shared(named) else ""
    found = store.shared.of([note.id]).get(note.id) if store.has_shared else None
    return found.space if found and is_shared(found.space) else ""


def who_reads(store: MemoryStore, note: Memory) -> str:
    """A sentence on who reads a note that was just written, if not the user alone; "" if so."""
    if space := shared_space_of(store, note):
        return first_of_project(store, note) or f"It goes to the space {space}, whose members read it."
    return _doubt(store, note)


def first_of_project(store: MemoryStore, note: Memory) -> str:
    """What to say once: of the first note that goes to a space to which its project belongs; else ""."""
    space = shared_space_of(store, note)
    if not space or space not in spaces_of_project(store, note.project) or not _is_first(store, note, space):
        return ""
    return (
        f"The project {note.project} belongs to the space {space}: its members read this note and your later ones of"
        " the project. Earlier ones stay your own: `anamnesis space` lists them."
        f" To keep this one private: anamnesis move {note.id} --space '~'"
    )


def _doubt(store: MemoryStore, note: Memory) -> str:
    if note.scope != _PORTABLE or space_of(note) or len(spaces := spaces_of_project(store, note.project)) < 2:
        return ""
    return f"The spaces {' and '.join(spaces)} have its project, so it is your own: --space names one of them."


def _is_first(store: MemoryStore, note: Memory, space: str) -> bool:
    """Whether no other note of the user's own is in the space with the note's project."""
    others = [id for id in store.ids_of(note.project) if id != note.id]
    return not any(each.space == space and not each.author for each in store.shared.of(others).values())


def unshared(store: MemoryStore) -> list[Unshared]:
    """The notes that wait until the user shares them or keeps them private, by project.

    A note that names a space is decided: the user's own is named by `space: ~own`.
    """
    if not store.has_shared:
        return []
    given = sorted(project for some in store.shared.projects().values() for project in some)
    found = []
    for project in {comparable(each): each for each in given}.values():
        spaces = spaces_of_project(store, project)
        ids = store.ids_of(project) if spaces else []
        shared = store.shared.of(ids)
        notes = store.whole(id for id in ids if id not in shared)
        own = [note for note in notes if is_among(note.project, [project]) and note.scope == _PORTABLE]
        waiting = [note.id for note in own if not space_of(note)]
        if waiting:
            found.append(Unshared(project, spaces, waiting))
    return found
