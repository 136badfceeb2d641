"""The current work in a folder: the words of its branch, of changed and committed files, and of a session's open ends.

A clone may be hostile: its names become words of a query and nothing else, and git has a timeout of a second.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from anamnesis.project import may_be_in_repository
from anamnesis.recall.relevance import subject

_SECONDS = 1.0
_MOST_BYTES = 64_000
# Only names: git runs no program for signatures, diffs or submodules. A filter in the repository's configuration may
# run, as in every `git status`; one in the user's configuration does not.
_PLAIN = ("--name-only", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--no-renames", "-z")
_COMMITTED = ("-n3", "--no-show-signature", "--decorate=full", "--format=%x01%D", *_PLAIN)
_CHANGED = (*_PLAIN, "HEAD", "--")
_MOST_FILES = 12
# The last parts of a path that say what the file is about; a longer name is cut.
_PARTS = 3
_LONGEST = 200
_MOST_OPEN = 6
# Names of branches and folders that say nothing about the work, besides the words of any request.
_NAMES = """
api app apps bugfix chore cmd conftest core dev develop doc docs feat feature head hotfix index init internal lib libs
master mod packages pkg refs release spec specs src tmp trunk util utils wip
"""
_GENERIC = frozenset(_NAMES.split())
_BETWEEN = re.compile(r"[\W_]+")
_HUMP = re.compile("([a-z0-9])([A-Z])")
_BRANCH = re.compile("HEAD -> refs/heads/([^,]+)")
# A heading, or a label with a colon, for what is still to be done.
_OPEN = re.compile(
    r"(?:next(?: steps?)?|open (?:questions?|ends?|points?|issues?|tasks?)|to-?dos?|remaining(?: work)?|still open"
    r"|left to do|follow-?ups?|unresolved)[\s*_]*(?::[\s*_]*(.*)|$)",
    re.IGNORECASE,
)


def at_hand(folder: Path) -> list[str]:
    """The current work in a folder's repository: the words of the branch and of each file, the most telling first."""
    if not may_be_in_repository(folder):
        return []
    committed = _git(folder, "log", *_COMMITTED)
    if not committed:
        return []
    changed = _git(folder, "diff-index", *_CHANGED)
    branch = _BRANCH.search(committed[0])
    files = [name for name in (*changed, *committed) if name and not name.startswith("\x01")]
    named = [_words(branch[1])] if branch else []
    return _distinct([*named, *(_words(_end(file)) for file in dict.fromkeys(files[:_MOST_FILES]))])


def open_ends(text: str) -> list[str]:
    """The open ends in a session's note: the words of each point that is still to be done."""
    found: list[str] = []
    is_open = False
    for line in text.splitlines():
        words = line[:_LONGEST].strip(" \t#>*_-")
        if heading := _OPEN.match(words):
            is_open, words = True, heading[1] or ""
        elif line.startswith(("#", "**")):
            is_open = False
        if is_open and words:
            found.append(subject(words))
    return _distinct(found)[:_MOST_OPEN]


def _git(folder: Path, *arguments: str) -> list[str]:
    """The fields of git's output; none if it fails. It fetches nothing, and reads no configuration of the user."""
    from anamnesis.git import GitFailed, git  # 5 ms that a folder outside of a repository need not spend

    variables = {"GIT_OPTIONAL_LOCKS": "0", "GIT_ALLOW_PROTOCOL": "none"}
    try:
        said = git(folder, *arguments, variables=variables, timeout=_SECONDS, most=_MOST_BYTES)
    except GitFailed:
        return []
    return [field.strip("\n") for field in said.decode("utf-8", "replace").split("\0")]


def _end(path: str) -> str:
    """The last parts of a path, without the suffix."""
    *folders, name = path.split("/")[-_PARTS:]
    return "/".join([*folders, name.partition(".")[0] or name])


def _words(name: str) -> str:
    """The words of a name that say what it is about; fooBar has two."""
    words = subject(_HUMP.sub(r"\1 \2", _BETWEEN.sub(" ", name[:_LONGEST]))).split()
    return " ".join(word for word in words if word not in _GENERIC)


def _distinct(hints: Iterable[str]) -> list[str]:
    return [hint for hint in dict.fromkeys(hints) if hint]
