"""Decides whether a remote is a repository of notes, so that private notes are not pushed into another one.

Its marker is a commit of a sync: the last one, or any in the history of a branch that holds notes. A remote without
the marker is joined if it holds nothing but notes and the files that a host makes for a new repository.
"""

from __future__ import annotations

from collections.abc import Iterable

from anamnesis.store.files import describes_repository, is_type_folder
from anamnesis.sync.repository import AUTHOR, MESSAGE, Repository


def find_foreign(repository: Repository, main: str, branches: Iterable[str]) -> str:
    """A file of a fetched remote that does not belong to notes; "" if the remote can be joined."""
    has_notes = any(is_type_folder(name) for name in repository.names(main))
    walk = "--max-count=1" if has_notes else "--no-walk"
    if repository.line("rev-list", walk, f"--author=^{AUTHOR} <{AUTHOR}@", f"--grep=^{MESSAGE} ", main):
        return ""
    for commit in dict.fromkeys((main, *branches)):
        for path in repository.names(commit, "-r"):
            if not _belongs_to_notes(path):
                return path
    return ""


def _belongs_to_notes(path: str) -> bool:
    folder, _, name = path.partition("/")
    return name.endswith((".md", ".gitkeep")) if is_type_folder(folder) else describes_repository(path)
