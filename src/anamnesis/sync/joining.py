"""Decides whether a remote is a repository of notes, so that private notes are not pushed into another one.

Its marker is a commit of a sync: the last one, or any in the history of a branch that holds notes or nothing but
markdown. A remote without the marker is joined if it holds nothing but notes in their folders and the files that a host
makes for a new repository.
"""

from __future__ import annotations

from collections.abc import Iterable

from anamnesis.store.files import describes_repository, is_type_folder
from anamnesis.sync.repository import AUTHOR, MESSAGE, Repository, split


def find_foreign(repository: Repository, main: str, branches: Iterable[str]) -> str:
    """A file of a fetched remote that does not belong to notes; "" if the remote can be joined."""
    has_notes = any(is_type_folder(name) for name in _names(repository, main))
    if has_sync(repository, main, only_last=not has_notes):
        return ""
    others = [
        path
        for commit in dict.fromkeys((main, *branches))
        for path in _names(repository, commit, "-r")
        if not _belongs_to_notes(path)
    ]
    if others and not has_notes and all(path.endswith(".md") for path in others) and has_sync(repository, main):
        return ""  # notes without front matter may be anywhere
    return next(iter(others), "")


def has_sync(repository: Repository, commit: str, *, only_last: bool = False) -> bool:
    """Whether a commit, or any in its history, was made by a sync."""
    walk = "--no-walk" if only_last else "--max-count=1"
    return bool(repository.line("rev-list", walk, f"--author=^{AUTHOR} <{AUTHOR}@", f"--grep=^{MESSAGE} ", commit))


def _names(repository: Repository, commit: str, *options: str) -> list[str]:
    """The names at the top of a commit's tree, or with `-r` the paths of all its files."""
    return split(repository.git("ls-tree", "-z", "--name-only", *options, commit))


def _belongs_to_notes(path: str) -> bool:
    folder, _, name = path.partition("/")
    return name.endswith((".md", ".gitkeep")) if is_type_folder(folder) else describes_repository(path)
