"""This machine as finders and readers see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from anamnesis.project import GLOBAL, cleaned_key, find_project
from anamnesis.store import MemoryStore
from anamnesis.store.projects import names_of, one_each


@dataclass(frozen=True, slots=True)
class Machine:
    """The folders, names and variables of this machine, and the projects of its notes."""

    id: str
    home: Path  # of Anamnesis
    user_home: Path
    claude_home: Path
    folder: Path  # where the command runs
    environ: Mapping[str, str] = field(default_factory=dict)
    projects: tuple[str, ...] = ()

    def local_key(self, path: Path) -> str:
        """The key of a record that is identified only by its path."""
        return f"{self.id}:{path.absolute().as_posix()}"

    def project_key(self, path: Path, project: str) -> str:
        """The key of a file in a project: its path in the repository, which is the same on every machine."""
        root = self.repository(path.parent)
        if project == GLOBAL or root in (None, self.user_home):
            return self.local_key(path)
        return f"{project}:{path.relative_to(root).as_posix()}"

    def repository(self, folder: Path) -> Path | None:
        """The root of the repository that a folder is in; None if it is in none."""
        return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)

    def project_of(self, folder: Path) -> str:
        """The key of the project that a folder belongs to."""
        return find_project(folder, self.home, self.user_home).key

    def project_named(self, name: str) -> str:
        """The key of a project that another program identifies by a short name or a path."""
        key = cleaned_key(name.replace("\\", "/").rstrip("/").rpartition("/")[2].lower())
        known = one_each(names_of(key, self.projects)) if key else []
        return known[0] if len(known) == 1 and "/" in known[0] else key or GLOBAL

    def place(self, variable: str, *otherwise: str) -> Path:
        """The folder that a variable names, else one under the user's home."""
        given = self.environ.get(variable, "")
        return Path(given) if Path(given).is_absolute() else self.user_home.joinpath(*otherwise)


def this_machine(
    store: MemoryStore,
    machine_id: str,
    user_home: Path,
    claude_home: Path,
    *,
    folder: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Machine:
    # Resolved, because keys contain paths: a place has one path, also through links.
    homes = user_home.resolve(), claude_home.resolve(), (folder or user_home).resolve()
    return Machine(machine_id, store.root, *homes, environ or {}, tuple(store.projects()))
