"""The project names that files of a working tree claim, and which of them the user trusts.

A file that git tracks comes with a clone, so a name in it that contradicts the remote counts only once it is trusted.
Trust is recorded per folder and name in ANAMNESIS_HOME, and is never synced.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from anamnesis.disk import locked, write_atomically
from anamnesis.errors import StoreUnavailable
from anamnesis.light import lazy_pattern
from anamnesis.log import log_once
from anamnesis.working_tree import RefusedPath, read_file

_FILE = "trusted-projects.json"
_REMOTE = lazy_pattern(r"^[^\t\n]+\t(.*) \(fetch\)", re.MULTILINE)


class Claim(NamedTuple):
    """A project name that a file below a folder claims for the folder."""

    folder: Path
    file: str
    name: str

    @property
    def path(self) -> Path:
        return self.folder / self.file


def provided(home: Path, folder: Path, file: str, most: int) -> bytes | None:
    """The content of a file of a working tree; a refused file is logged once and counts as missing."""
    try:
        return read_file(folder, file, most)
    except RefusedPath as error:
        ignore(home, folder / file, error.message)
        return None


def ignore(home: Path, path: Path, reason: str) -> None:
    log_once(home, "ignored", path=str(path), reason=reason)


def is_accepted(home: Path, claim: Claim, name_of: Callable[[str, Path], str]) -> bool:
    """Whether a claim counts: it is the user's own, no remote contradicts it, or it is trusted.

    `name_of` returns the name for a remote's URL and a folder. If git fails, no claim of a repository is accepted.
    """
    if not any(os.path.exists(place / ".git") for place in (claim.folder, *claim.folder.parents)):
        return True
    if claim.name in _read(home).get(_key(claim.folder), ()):
        return True
    from anamnesis.git import GitFailed, git  # 5 ms that a folder without a claim need not spend

    def ask(*arguments: str) -> str:
        variables = {"GIT_OPTIONAL_LOCKS": "0"}
        return git(claim.folder, *arguments, as_user=True, variables=variables, timeout=5).decode("utf-8", "replace")

    try:
        # The folder too, which may be a submodule; and ignoring case, because file systems may.
        paths = [claim.file, claim.file.partition("/")[0]]
        listed = ask("ls-files", "-z", "--", *(f":(icase){path}" for path in paths)).lower().split("\0")
        if not {path.lower() for path in paths} & {*listed}:
            return True
        remotes = _REMOTE.findall(ask("remote", "-v"))
    except GitFailed:
        return False
    return not remotes or claim.name.lower() in {name_of(url, claim.folder).lower() for url in remotes}


def trust(home: Path, claims: list[Claim]) -> None:
    """Trust these names in their folders."""
    with _changing(home) as trusted:
        for claim in claims:
            trusted[_key(claim.folder)] = [*trusted.get(_key(claim.folder), ()), claim.name]


def untrust(home: Path, folders: list[Path]) -> bool:
    """Remove the trust in these folders; whether there was any."""
    with _changing(home) as trusted:
        found = [trusted.pop(_key(folder), None) for folder in folders]
        return any(found)


@contextlib.contextmanager
def _changing(home: Path) -> Iterator[dict[str, list[str]]]:
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(home / "trust.lock"):
            yield (trusted := _read(home))
            write_atomically(home / _FILE, json.dumps(trusted, indent=1).encode(), mode=0o600)
    except OSError as error:
        raise StoreUnavailable(f"Cannot write {home / _FILE}: {error.strerror}.") from error


def _read(home: Path) -> dict[str, list[str]]:
    """The trusted names; an unreadable file trusts nothing."""
    try:
        content = json.loads((home / _FILE).read_bytes())
    except (OSError, ValueError):
        return {}
    known = content if isinstance(content, dict) else {}
    return {folder: names for folder, names in known.items() if isinstance(names, list)}


def _key(folder: Path) -> str:
    return os.path.realpath(folder)
