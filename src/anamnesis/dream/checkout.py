"""Queries git about a working copy, which may be hostile or huge: git runs no program of it, fetches nothing, and has
a timeout for each query.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeVar

from anamnesis.dream.declarations import BUILD_FILES, PROSE, declared, is_build_file, lines_of, matches
from anamnesis.dream.patches import read_patches
from anamnesis.dream.references import PATH, SYMBOL, Reference
from anamnesis.errors import AnamnesisError
from anamnesis.git import GitFailed, git
from anamnesis.light import lazy_pattern
from anamnesis.working_tree import RefusedPath, read_file

# Timeouts for one query, and for all queries about a working copy.
_SECONDS = 20.0
_SECONDS_IN_ALL = 60.0
_MOST_BYTES = 64_000_000
_MOST_BUILD_FILES = 1_000
# Up to this many files, words are searched for at HEAD; beyond, on the disk, which takes a tenth of the time.
_FEW_FILES = 20_000
# The number of commits that are examined, and the batch sizes for commits, files and words.
_MOST_COMMITS = 5_000
_COMMITS = 250
_FILES = 200
_WORDS = 200
# A diff of more files than this is not read.
_MOST_CHANGED = 3_000
# With these, git treats larger files as binary, and shows no lines of them nor of a first commit.
_OPTIONS = ("-c", "core.bigFileThreshold=1m", "-c", "log.showRoot=false", "-c", "diff.renameLimit=400")
_VARIABLES = {"GIT_OPTIONAL_LOCKS": "0", "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}
_PLAIN = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--no-color")
# Each commit against its first parent: a merge is one change, with the date of the merge.
_AS_ARRIVED = ("--stdin", "--no-walk=unsorted", "-m", "--first-parent", "--no-show-signature", "--format=%x01%H")
_CODE = (":/", *(f":(exclude,icase,top){each}" for each in PROSE))
_BUILD = tuple(f":(top,glob)**/{each}" for each in BUILD_FILES)
_WORD = lazy_pattern(r"[\w$]+")

T = TypeVar("T")


class Commit(NamedTuple):
    """A commit and its time in seconds."""

    id: str
    at: int


class Move(NamedTuple):
    """A file that a commit removed, or renamed to `new`."""

    commit: Commit
    old: str
    new: str = ""


class RemovedDeclaration(NamedTuple):
    """A declaration that a commit removed from a file; it may be declared elsewhere."""

    commit: Commit
    declaration: Reference
    file: str


class ChangedNames(NamedTuple):
    """The names that removed and added lines declare, and the names of removed and added files."""

    removed: set[str]
    added: set[str]


class Checkout:
    """A working copy at its HEAD. Raises `AnamnesisError` if git fails; `stop` raises when the cycle has to stop."""

    def __init__(self, folder: Path, stop: Callable[[], bool]) -> None:
        self._folder = folder
        self._stop = stop
        self._deadline = time.monotonic() + _SECONDS_IN_ALL
        self.head, top = self._ask("rev-parse", "HEAD^{commit}", "--show-toplevel").split("\n")[:2]
        self._top = Path(top)

    @cached_property
    def files(self) -> dict[str, set[str]]:
        """The paths at HEAD, by the names of the files."""
        found: dict[str, set[str]] = {}
        for path in self._ask("ls-tree", "-r", "-z", "--name-only", "--full-tree", self.head).split("\0"):
            found.setdefault(path.rpartition("/")[2], set()).add(path)
        found.pop("", None)
        return found

    @cached_property
    def _built(self) -> set[Reference] | None:
        """The declarations in build files at HEAD; None if there are too many of these files."""
        paths = [path for name, paths in self.files.items() if is_build_file(name) for path in paths]
        if len(paths) > _MOST_BUILD_FILES:
            return None
        texts = self.texts((Commit(self.head, 0), path) for path in paths)
        return {each for (_, path), text in texts.items() for line in lines_of(path, text) for each in declared(line)}

    def has(self, path: str) -> bool:
        """Whether HEAD has a file with exactly this path."""
        return path in self.files.get(path.rpartition("/")[2], ())

    def is_at_head(self, path: str) -> bool:
        """Whether a file has this path, or a path that ends in it. A path inside a submodule counts as present."""
        same_name = self.files.get(path.rpartition("/")[2], ())
        if any(each == path or each.endswith(f"/{path}") for each in same_name):
            return True
        parents = (path[:place] for place, letter in enumerate(path) if letter == "/")
        return any(map(self.has, parents))

    def is_on_disk(self, path: str) -> bool:
        """Whether the working copy has the file, tracked or not."""
        try:
            return read_file(self._top, path, 0) is not None
        except RefusedPath:  # something is there, such as a link or a folder
            return True

    def present(self, references: Iterable[Reference]) -> set[Reference]:
        """Those of the references that are in the working copy now."""
        wanted = {*references}
        words = self._in_code({each.name for each in wanted if each.kind == SYMBOL})
        return {each for each in wanted if self._is_present(each, words)}

    def _is_present(self, reference: Reference, words: set[str]) -> bool:
        if reference.kind == PATH:
            return self.is_at_head(reference.name)
        if reference.kind == SYMBOL:
            return reference.name in words
        return self._built is None or any(matches(reference, each) for each in self._built)

    def _in_code(self, words: Iterable[str]) -> set[str]:
        """Those of the words that are anywhere in code."""
        found: set[str] = set()
        tree = [self.head] if sum(map(len, self.files.values())) <= _FEW_FILES else []
        for some in _chunks(sorted(words), _WORDS):
            self._stop()
            try:
                said = self._ask("grep", "-I", "-h", "-o", "-w", "-E", "-e", _any_of(some), *tree, "--", *_CODE)
            except GitFailed as error:
                if error.said:
                    raise
                continue  # git has found nothing
            found |= {*said.split("\n")}
        return found

    @cached_property
    def _line(self) -> list[Commit]:
        """The newest commits of HEAD and its first parents, the newest first."""
        return self._log(self.head)

    def commits(self, since: float, after: str = "") -> list[Commit]:
        """The newest commits since a time, or those after another commit; the newest first."""
        if after:
            return self._log(f"{after}..{self.head}")
        return [commit for commit in self._line if commit.at >= since]

    def at(self, moment: float) -> Commit | None:
        """The commit that was HEAD at a time; None if the history does not reach back so far."""
        return next((commit for commit in self._line if commit.at <= moment), None)

    def moves(self, commits: Sequence[Commit]) -> Iterator[Move]:
        """The files that commits removed or renamed, in the order of the commits."""
        known = {commit.id: commit for commit in commits}
        for said in self._changes(commits, "-M", "--name-status", "-z", "--diff-filter=DR"):
            fields = iter(said.split("\0"))
            for field in fields:
                status = field.strip("\n")
                if status.startswith("\x01"):
                    commit = known[status[1:]]
                elif status:
                    yield Move(commit, next(fields, ""), next(fields, "") if status.startswith("R") else "")

    def removed(self, commits: Sequence[Commit], symbols: Set[str]) -> Iterator[RemovedDeclaration]:
        """The declarations that commits removed, of `symbols` and in build files; in the order of the commits."""
        known = {commit.id: commit for commit in commits}
        for text in self._changes(commits, "-p", "-U1", "--no-renames", paths=_CODE if symbols else _BUILD):
            for change in read_patches(text):
                file = change.line.file.rpartition("/")[2]
                if not change.is_removed or not (is_build_file(file) or symbols & {*_WORD.findall(change.line.text)}):
                    continue
                yield from (
                    RemovedDeclaration(known[change.commit], each, change.line.file) for each in declared(change.line)
                )

    def changed_names(self, old: str) -> ChangedNames | None:
        """The names that changed since another HEAD; None if there are too many, or if git has lost that commit."""
        try:
            said = self._ask("diff", *_PLAIN, "--no-renames", "--name-status", "-z", old, self.head, "--").split("\0")
        except GitFailed:
            return None
        if len(said) > 2 * _MOST_CHANGED:
            return None
        found = ChangedNames(set(), set())
        for status, path in zip(said[::2], said[1::2], strict=False):
            if status in ("A", "D"):
                (found.added if status == "A" else found.removed).add(path.rpartition("/")[2])
        with contextlib.suppress(AnamnesisError):  # too many lines; the file names still count
            for change in read_patches(self._ask("diff", *_PLAIN, "--no-renames", "-U1", old, self.head, "--", *_CODE)):
                names = (each.name for each in declared(change.line))
                (found.removed if change.is_removed else found.added).update(names)
        return found

    def texts(self, places: Iterable[tuple[Commit, str]]) -> dict[tuple[Commit, str], str]:
        """The texts of files in commits, for those that existed."""
        found = {}
        for some in _chunks([place for place in dict.fromkeys(places) if "\n" not in place[1]], _FILES):
            self._stop()
            wanted = "".join(f"{commit.id}:{path}\n" for commit, path in some).encode()
            said = self._ask_bytes("cat-file", "--batch", input=wanted)
            for place in some:
                head, _, said = said.partition(b"\n")
                if not head.endswith(b" missing"):
                    size = int(head.rpartition(b" ")[2])
                    found[place] = said[:size].decode("utf-8", "replace")
                    said = said[size + 1 :]
        return found

    def had(self, commit: Commit, word: str) -> bool:
        """Whether a word was anywhere in code at a commit; also False after the deadline."""
        if time.monotonic() > self._deadline:
            return False
        try:
            self._ask("grep", "-q", "-I", "-w", "-F", "-e", word, commit.id, "--", *_CODE)
        except GitFailed:
            return False
        return True

    def find(self, commit: str) -> tuple[Commit, bool] | None:
        """A commit by its hexadecimal id, and whether it is in the history of HEAD; None if git does not know it."""
        try:
            id, at = self._ask("log", "-1", "--format=%H %ct", commit, "--").split()
            beyond = self._ask("rev-list", "--count", id, f"^{self.head}", "--")
        except (GitFailed, ValueError):
            return None
        return Commit(id, int(at)), beyond.strip() == "0"

    def _log(self, reach: str) -> list[Commit]:
        said = self._ask("log", "--first-parent", "--format=%H %ct", f"-n{_MOST_COMMITS}", reach, "--")
        return [Commit(id, int(at)) for id, at in (line.split() for line in said.splitlines())]

    def _changes(self, commits: Sequence[Commit], *arguments: str, paths: Sequence[str] = ()) -> Iterator[str]:
        """The output of `git log` for commits, in batches; older commits are skipped after the deadline."""
        for some in _chunks(commits, _COMMITS):
            self._stop()
            if time.monotonic() > self._deadline:
                return
            ids = "".join(f"{commit.id}\n" for commit in some).encode()
            yield self._ask("log", *_AS_ARRIVED, *_PLAIN, *arguments, "--", *paths, input=ids)

    def _ask(self, *arguments: str, input: bytes | None = None) -> str:
        return self._ask_bytes(*arguments, input=input).decode("utf-8", "replace")

    def _ask_bytes(self, *arguments: str, input: bytes | None = None) -> bytes:
        said = git(
            self._folder,
            *arguments,
            options=_OPTIONS,
            input=input,
            variables=_VARIABLES,
            timeout=_SECONDS,
            most=_MOST_BYTES,
        )
        if len(said) == _MOST_BYTES:  # the truncated rest would count as gone
            raise AnamnesisError(f"The output of git {arguments[0]} for {self._folder} is too large.")
        return said


def _any_of(words: Iterable[str]) -> str:
    return f"({'|'.join(map(re.escape, words))})"


def _chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))
