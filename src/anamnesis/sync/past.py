"""Finds purged notes in git's history, and the commands that rewrite it. Changes nothing."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from anamnesis.git import git
from anamnesis.sync.repository import BRANCH, Repository

_LOG = ("log", "--all", "--full-history", "--no-renames", "--no-show-signature", "--no-color", "-z")


@dataclass(frozen=True, slots=True)
class Past:
    """The commits that wrote or removed the files of some notes, and how to rewrite them."""

    commits: int
    is_pushed: bool  # whether the remote has any of them
    commands: tuple[str, ...]


def find_past(folder: Path, ids: Sequence[str]) -> Past:
    """The commits of a repository that hold these notes. A path that another file has now is left out."""
    repository = Repository(folder, "")
    if not repository.exists or not ids:
        return Past(0, False, ())
    paths = [path for path in _paths(folder, ids) if not os.path.lexists(folder / path)]
    commits = repository.git("rev-list", "--all", "--full-history", "--", *paths).split() if paths else []
    if not commits:
        return Past(0, False, ())
    is_pushed = bool(repository.git("rev-list", "--max-count=1", "--remotes", "--", *paths).strip())
    return Past(len(commits), is_pushed, _commands(folder, paths, is_pushed))


def _paths(folder: Path, ids: Sequence[str]) -> list[str]:
    """All paths that the files of notes had, found by their name or by the id in their front matter."""
    named = [f":(glob)**/{note_id}.*" for note_id in ids]
    found = _names(folder, "--", *named)
    for note_id in ids:
        pattern = note_id.replace(".", "[.]")
        found |= _names(folder, f"-G^id: *[\"']?{pattern}[\"']? *$")
    return sorted(found)


def _names(folder: Path, *arguments: str) -> set[str]:
    output = git(folder, *_LOG, "--format=", "--name-only", *arguments, options=("--git-dir=.git", "--work-tree=."))
    return {name.decode("utf-8", "surrogateescape").strip("\n") for name in output.split(b"\0") if name.strip(b"\n")}


def _commands(folder: Path, paths: Sequence[str], is_pushed: bool) -> tuple[str, ...]:
    removal = f"git rm --quiet --cached --ignore-unmatch -- {shlex.join(paths)}"
    commands = (
        "anamnesis sync",
        f"cd {shlex.quote(str(folder))}",
        f"FILTER_BRANCH_SQUELCH_WARNING=1 git filter-branch --force --index-filter {shlex.quote(removal)} -- --all",
        "git for-each-ref --format='delete %(refname)' refs/original | git update-ref --stdin",
        "git reflog expire --expire=now --all",
        "git gc --quiet --prune=now",
    )
    return (*commands, f"git push --force origin {BRANCH}") if is_pushed else commands
