"""The git repository of the notes: snapshots, differences, merged trees, and the way to the remote and back.

The files are the truth and the index is no more than git's memory of them. Nothing here changes a note's file.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from anamnesis.disk import TEMPORARY_SUFFIX
from anamnesis.git import LOCAL_TIMEOUT, GitFailed, git
from anamnesis.store.files import is_type_folder, without_shapeless

BRANCH = "main"
_MAIN = f"refs/heads/{BRANCH}"
_REMOTE = "refs/remotes/origin/"
_PENDING = "refs/anamnesis/pending"
_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_FILE_MODE = "100644"
_GITLINK = "160000"
# The files as a merge by git has left them, markers and all.
LEFT_BY_MERGE = "AUTO_MERGE"
# A sync makes four or five; what is packed is each file of objects that is not twice as large as all smaller ones.
_MOST_LOOSE_OBJECTS = 2_000
_UNFINISHED_COMMITS = (
    "rebase-merge/autostash",
    "rebase-merge/orig-head",
    "rebase-apply/autostash",
    "rebase-apply/orig-head",
    "MERGE_AUTOSTASH",
    "MERGE_HEAD",
)
_UNFINISHED = (
    "MERGE_AUTOSTASH",
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    LEFT_BY_MERGE,
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
)


# What no note is called and no repository may make us write: git's own folder in all its spellings, and ways out.
_UNSAFE = re.compile(
    r"(?:^|/)(?:|\.{1,2}|\.git[ .]*|git~\d+)(?:/|$)|\0" + (r"|[\\:]" if sys.platform == "win32" else ""), re.IGNORECASE
)
# How git says that somebody else has pushed since, or is pushing now.
_MOVED = re.compile(r"\[rejected\]|failed to update ref|cannot lock ref|incorrect old value")


def is_safe(path: str) -> bool:
    """Whether a file of a tree can have this path in the folder."""
    return not _UNSAFE.search(without_shapeless(path)) and not is_type_folder(path)


class Rejected(GitFailed):
    """The remote has moved since it was fetched."""


@dataclass(frozen=True, slots=True)
class Blob:
    """A file in a tree."""

    mode: str
    id: str


@dataclass(frozen=True, slots=True)
class Difference:
    """One path of two trees; None where it is not there."""

    path: str
    before: Blob | None
    after: Blob | None

    @property
    def is_file(self) -> bool:
        """Whether it is not a reference to another repository, which has no file here."""
        return not any(blob and blob.mode == _GITLINK for blob in (self.before, self.after))


@dataclass(frozen=True, slots=True)
class Dirt:
    """Paths whose files are not as the last commit has them, and those of them that a merge left unfinished."""

    changed: list[str]
    unmerged: list[str]


class Repository:
    """A folder of notes under git."""

    def __init__(self, folder: Path, machine_id: str) -> None:
        self.folder = folder
        self.metadata = folder / ".git"
        email = "".join(character for character in machine_id if character.isalnum() or character in "._-")
        self._identity = {
            f"GIT_{who}_{what}": value
            for who in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", "anamnesis"), ("EMAIL", f"anamnesis@{email or 'unknown'}"))
        }

    def git(
        self, *arguments: str, input: bytes | None = None, as_user: bool = False, timeout: float = LOCAL_TIMEOUT
    ) -> bytes:
        # Named outright: a folder without a repository of its own must not be taken for part of another one.
        return git(
            self.folder,
            *arguments,
            options=("-c", f"safe.directory={self.folder}", "--git-dir=.git", "--work-tree=.", "--literal-pathspecs"),
            input=input,
            variables=self._identity,
            as_user=as_user,
            timeout=timeout,
        )

    def line(self, *arguments: str) -> str:
        """The one line that git prints; "" where it fails."""
        with contextlib.suppress(GitFailed):
            return self.git(*arguments).decode("utf-8", "replace").strip()
        return ""

    @property
    def exists(self) -> bool:
        return self.metadata.exists()

    def create(self) -> None:
        """Make the folder a repository, if it is none yet."""
        if (self.metadata / "HEAD").exists() or self.metadata.is_file():
            return
        git(self.folder, "init", "--quiet", f"--initial-branch={BRANCH}", "--template=", ".")
        for name, value in (
            ("core.untrackedCache", "true"),
            (f"branch.{BRANCH}.remote", "origin"),
            (f"branch.{BRANCH}.merge", _MAIN),
        ):
            self.git("config", name, value)

    def settle_rules(self) -> None:
        """Keep files that are still being written out of the snapshots, and all others in them as they are."""
        if self.metadata.is_dir():
            _append_line(self.metadata / "info" / "exclude", f".*{TEMPORARY_SUFFIX}")
            _append_line(self.metadata / "info" / "attributes", "* -text !ident !filter !working-tree-encoding")

    def set_remote(self, url: str) -> None:
        """Let the remote be at this address; what is known of another one is forgotten."""
        if self.line("config", "--get-all", "remote.origin.url") == url:
            return
        self.line("config", "--remove-section", "remote.origin")
        self.git("config", "remote.origin.url", url)
        self.git("config", "remote.origin.fetch", f"+refs/heads/*:{_REMOTE}*")
        for name in self.references(_REMOTE):
            self.git("update-ref", "-d", name)

    def references(self, *prefixes: str) -> dict[str, str]:
        """The references under these names, with what they point at."""
        listed = self.git("for-each-ref", "--format=%(refname) %(objectname)", *prefixes).decode("utf-8", "replace")
        return {name: commit for name, _, commit in (line.partition(" ") for line in listed.splitlines())}

    def head(self) -> str:
        """The commit that the files were last in step with; "" before the first."""
        return self.line("rev-parse", "--verify", "--quiet", "HEAD^{commit}")

    def dirt(self) -> Dirt:
        """What is not as the last commit has it."""
        # Unlike `all` untracked files, of the `normal` ones git remembers which folders have nothing new.
        options = ("--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all", "--untracked-files=normal")
        found = self.git("status", *options)
        entries = [(entry[:2], entry[3:]) for entry in _split(found)]
        folders = [path for _, path in entries if path.endswith("/")]
        changed = [path for _, path in entries if not path.endswith("/")]
        if folders:
            inside = _split(self.git("ls-files", "-z", "--others", "--exclude-standard", "--", *folders))
            changed += [path for path in inside if not path.endswith("/")]  # else a repository inside this one
        unmerged = [path for state, path in entries if "U" in state or state in ("AA", "DD")]
        return Dirt([path for path in changed if is_safe(path)], unmerged)

    def snapshot(self, paths: Sequence[str], parents: Sequence[str], message: str) -> str:
        """Commit these files as they are now; the first parent if nothing differs from it."""
        waiting = list(paths)
        while waiting:
            try:
                self.git("update-index", "-z", "--add", "--remove", "--stdin", input=_joined(waiting))
                break
            except GitFailed as error:
                unreadable = [path for path in waiting if f"Unable to process path {path}\n" in error.said]
                if not unreadable:
                    raise
                waiting.remove(unreadable[0])  # it is committed when it can be read
        return self._commit(parents, message)

    def record(self, changes: Iterable[Difference], parents: Sequence[str], message: str) -> str:
        """Commit the first parent with these changes."""
        self.note_in_index(changes)
        return self._commit(parents, message)

    def note_in_index(self, changes: Iterable[Difference]) -> None:
        """Let git know these files as they are about to be."""
        lines = [
            f"{each.after.mode} {each.after.id}\t{each.path}" if each.after else f"0 {'0' * 40}\t{each.path}"
            for each in sorted(changes, key=lambda each: each.after is not None)  # a file may make way for a folder
        ]
        if lines:
            self.git("update-index", "-z", "--index-info", input=_joined(lines))

    def _commit(self, parents: Sequence[str], message: str) -> str:
        tree = self.git("write-tree").decode().strip()
        if len(parents) < 2 and tree == (self.line("rev-parse", f"{parents[0]}^{{tree}}") if parents else _EMPTY_TREE):
            return parents[0] if parents else ""
        lineage = [word for parent in parents for word in ("-p", parent)]
        return self.git("commit-tree", tree, *lineage, "-m", message).decode().strip()

    def move_to(self, commit: str) -> None:
        """The files are as in this commit now: let the branch and HEAD be there."""
        if self.references(_MAIN).get(_MAIN) != commit:
            self.git("update-ref", _MAIN, commit)
        if not self._on_branch():
            self.git("symbolic-ref", "HEAD", _MAIN)

    def _on_branch(self) -> bool:
        try:
            return (self.metadata / "HEAD").read_text("utf-8", "replace").strip() == f"ref: {_MAIN}"
        except OSError:  # the folder is a worktree of a repository elsewhere
            return self.line("symbolic-ref", "--quiet", "HEAD") == _MAIN

    def begin(self, commit: str) -> None:
        """Remember a commit that the files are being brought to, in case that is interrupted."""
        self.git("update-ref", _PENDING, commit)

    @property
    def is_merging(self) -> bool:
        """Whether a merge or rebase by git stopped half-way."""
        return any((self.metadata / name).exists() for name in _UNFINISHED)

    def has(self, tree: str, path: str) -> bool:
        """Whether a commit or a tree has a file of this path."""
        return bool(self.line("rev-parse", "--verify", "--quiet", f"{tree}:{path}"))

    def unfinished(self) -> list[str]:
        """The commits that hold what an interrupted sync, merge or rebase had not brought together yet."""
        known = self.references(_MAIN, _PENDING)
        found = [known.get(_PENDING, "")]
        for name in _UNFINISHED_COMMITS:
            with contextlib.suppress(OSError):
                found += (self.metadata / name).read_text("utf-8", "replace").split()
        if not self._on_branch():
            found.append(known.get(_MAIN, ""))
        return [
            commit
            for commit in found
            if commit and self.line("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}")
        ]

    def finish(self) -> None:
        """Forget what was unfinished: it has been brought together."""
        if self.references(_PENDING):
            self.git("update-ref", "-d", _PENDING)
        for name in _UNFINISHED:
            path = self.metadata / name
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)

    def pack(self) -> None:
        """Put the objects of many syncs into one file, when there are many; one of git's 256 folders tells how many."""
        with contextlib.suppress(OSError, GitFailed):
            if len(os.listdir(self.metadata / "objects" / "17")) * 256 > _MOST_LOOSE_OBJECTS:
                self.git("repack", "-d", "-l", "-q", "--geometric=2")

    def common(self, one: str, two: str) -> str:
        """The last commit that both have in their history; "" if there is none."""
        return self.line("merge-base", one, two)

    def count_missing(self, commit: str, known: str) -> int:
        """How many commits lead to `commit` that are not in the history of `known`."""
        return int(self.git("rev-list", "--count", commit, *([f"^{known}"] if known else [])))

    def differences(self, before: str, after: str) -> list[Difference]:
        """What differs between two commits; "" stands for an empty tree."""
        fields = _split(self.git("diff-tree", "-r", "-z", "--no-renames", before or _EMPTY_TREE, after))
        found = []
        for facts, path in zip(fields[::2], fields[1::2], strict=True):
            old_mode, new_mode, old, new, _ = facts.removeprefix(":").split(" ")
            found.append(Difference(path, _blob(old_mode, old), _blob(new_mode, new)))
        return found

    def blocking(self, commit: str) -> list[Difference]:
        """What a commit has in the place of a note type's folder: a file, a link or another repository; each as its
        removal."""
        found = []
        for entry in _split(self.git("ls-tree", "-z", commit)) if commit else ():
            facts, _, path = entry.partition("\t")
            mode, kind, id = facts.split(" ")
            if kind != "tree" and is_type_folder(path):
                found.append(Difference(path, Blob(mode, id), None))
        return found

    def contents(self, blobs: Iterable[Blob | None]) -> dict[str, bytes]:
        """The contents of blobs by their id."""
        wanted = list(dict.fromkeys(blob.id for blob in blobs if blob))
        if not wanted:
            return {}
        output = self.git("cat-file", "--batch", input="".join(f"{each}\n" for each in wanted).encode())
        found, position = {}, 0
        for each in wanted:
            end = output.index(b"\n", position)
            size = int(output[position:end].rpartition(b" ")[2])
            found[each] = output[end + 1 : end + 1 + size]
            position = end + size + 2
        return found

    def store(self, contents: Sequence[bytes]) -> list[Blob]:
        """Put contents into the repository."""
        if not contents:
            return []
        with tempfile.TemporaryDirectory(dir=self.metadata) as folder:
            paths = [Path(folder, str(number)) for number in range(len(contents))]
            for path, content in zip(paths, contents, strict=True):
                path.write_bytes(content)
            names = "".join(f"{path.relative_to(self.folder).as_posix()}\n" for path in paths).encode()
            output = self.git("hash-object", "-w", "--no-filters", "--stdin-paths", input=names)
        return [Blob(_FILE_MODE, each) for each in output.decode().split()]

    def fetch(self, timeout: float) -> None:
        """Learn what the remote has."""
        options = ("--quiet", "--no-tags", "--prune", "--no-auto-maintenance", "--no-recurse-submodules")
        fetch = ("fetch", *options, "origin", f"+refs/heads/*:{_REMOTE}*")
        try:
            self.git(*fetch, as_user=True, timeout=timeout)
        except GitFailed as error:
            if not _MOVED.search(error.message):
                raise
            self.git(*fetch, as_user=True, timeout=timeout)  # a fetch of a sync that was killed had gone on

    def remote_head(self, timeout: float) -> tuple[str, str]:
        """Where the remote's main branch was when it was fetched, and what of the remote is to be brought in: that, or
        its default branch where it has no main one; "" for nothing."""
        branches = self.references(_REMOTE)
        if len(branches) > 1 and _REMOTE + BRANCH not in branches:
            listed = self.git("ls-remote", "--symref", "origin", "HEAD", as_user=True, timeout=timeout).decode()
            default = listed.partition("\t")[0].removeprefix("ref: refs/heads/")
            return "", branches.get(_REMOTE + default) or min(branches.values())
        main = branches.get(_REMOTE + BRANCH, "")
        return main, main or next(iter(branches.values()), "")

    def push(self, commit: str, timeout: float) -> None:
        """Let the remote's main branch be at this commit."""
        options = (
            "--quiet",
            "--porcelain",
            "--no-verify",
            "--no-signed",
            "--no-follow-tags",
            "--recurse-submodules=no",
        )
        try:
            self.git("push", *options, "origin", f"{commit}:{_MAIN}", as_user=True, timeout=timeout)
        except GitFailed as error:
            raise (Rejected if _MOVED.search(error.message) else GitFailed)(error.message) from None


def _append_line(path: Path, line: str) -> None:
    known = path.read_text("utf-8", "surrogateescape") if path.exists() else ""
    if line not in known.splitlines():
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{known}{line}\n", "utf-8", "surrogateescape")


def _blob(mode: str, name: str) -> Blob | None:
    return Blob(mode, name) if name.strip("0") else None


def _split(output: bytes) -> list[str]:
    """What git separates by NUL; a path that is not UTF-8 survives."""
    return [part.decode("utf-8", "surrogateescape") for part in output.split(b"\0") if part]


def _joined(parts: Iterable[str]) -> bytes:
    return b"".join(part.encode("utf-8", "surrogateescape") + b"\0" for part in parts)
