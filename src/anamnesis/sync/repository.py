"""The git repository of the notes: its index, commits, references and objects. Nothing here changes a note's file."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path, PurePosixPath

from anamnesis.disk import TEMPORARY_SUFFIX
from anamnesis.git import LOCAL_TIMEOUT, GitFailed, git
from anamnesis.store.files import is_type_folder
from anamnesis.sync.checkpoint import Checkpoint, version_of
from anamnesis.sync.tree import Blob, Difference, is_safe

BRANCH = "main"
# Who makes the commits of a sync, and how their messages begin.
AUTHOR = "anamnesis"
MESSAGE = "anamnesis: sync from"
MAIN = f"refs/heads/{BRANCH}"
_PENDING = "refs/anamnesis/pending"
_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_EXCLUDED = f".*{TEMPORARY_SUFFIX}"
_FILE_MODE = "100644"
# The tree that a merge by git has written to the files, with its markers.
LEFT_BY_MERGE = "AUTO_MERGE"
# A sync makes four or five loose objects, one of them the tree of a whole folder: 57 bytes a note. `--geometric` packs
# them, and each pack that is not twice as large as all smaller ones.
_MOST_LOOSE_OBJECTS = 2_000
_MOST_LOOSE_BYTES = 64_000_000
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


@dataclass(frozen=True, slots=True)
class FileStatus:
    """Paths whose files differ from the last commit, and those of them that a merge left unresolved."""

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
            for what, value in (("NAME", AUTHOR), ("EMAIL", f"{AUTHOR}@{email or 'unknown'}"))
        }
        self._main = self._pending = ""
        self.trees: dict[str, str] = {}  # those that are known, by commit

    def git(
        self,
        *arguments: str,
        input: bytes | None = None,
        as_user: bool = False,
        timeout: float = LOCAL_TIMEOUT,
        connect_timeout: float | None = None,
    ) -> bytes:
        # `--git-dir` is explicit: a folder without a repository must not be taken for part of another one.
        return git(
            self.folder,
            *arguments,
            options=("-c", f"safe.directory={self.folder}", "--git-dir=.git", "--work-tree=.", "--literal-pathspecs"),
            input=input,
            variables=self._identity,
            as_user=as_user,
            timeout=timeout,
            connect_timeout=connect_timeout,
        )

    def line(self, *arguments: str) -> str:
        """The one line of git's output; "" if it fails."""
        with contextlib.suppress(GitFailed):
            return self.git(*arguments).decode("utf-8", "replace").strip()
        return ""

    @property
    def exists(self) -> bool:
        return self.metadata.exists()

    @property
    def index(self) -> Path:
        return self.metadata / "index"

    @property
    def config(self) -> Path:
        return self.metadata / "config"

    def create(self) -> None:
        """Make the folder a repository, if it is none yet."""
        if (self.metadata / "HEAD").exists() or self.metadata.is_file():
            return
        git(self.folder, "init", "--quiet", f"--initial-branch={BRANCH}", "--template=", ".")
        for name, value in (
            ("core.untrackedCache", "true"),
            (f"branch.{BRANCH}.remote", "origin"),
            (f"branch.{BRANCH}.merge", MAIN),
        ):
            self.git("config", name, value)

    def write_rules(self) -> None:
        """Exclude temporary files from commits, and commit all others byte for byte."""
        if self.metadata.is_dir():
            _append_line(self.metadata / "info" / "exclude", _EXCLUDED)
            _append_line(self.metadata / "info" / "attributes", "* -text !ident !filter !working-tree-encoding")

    def references(self, *prefixes: str) -> dict[str, str]:
        """The references under these names, with the commits they point at."""
        listed = self.git("for-each-ref", "--format=%(refname) %(objectname)", *prefixes).decode("utf-8", "replace")
        return {name: commit for name, _, commit in (line.partition(" ") for line in listed.splitlines())}

    def locate(self) -> None:
        """Read the branch, and the commit of an interrupted sync. Other methods need this first."""
        known = self.references(MAIN, _PENDING)
        self._main, self._pending = known.get(MAIN, ""), known.get(_PENDING, "")

    def head(self) -> str:
        """The commit that the files were last in agreement with; "" before the first."""
        return self.line("rev-parse", "--verify", "--quiet", "HEAD^{commit}")

    def is_at(self, checkpoint: Checkpoint) -> bool:
        """Whether nobody has used git here since this checkpoint. Needs `locate`."""
        return (
            (self._main, self._pending) == (checkpoint.head, "")
            and version_of(self.index) == checkpoint.index != ""
            and self._on_branch()
            and not self.is_merging
        )

    def has_rules_for(self, paths: Iterable[str]) -> bool:
        """Whether ignore rules of the user, or a nested repository, may exclude one of these files."""
        excluded = (self.metadata / "info" / "exclude").read_text("utf-8", "replace").splitlines()
        if [line for line in excluded if line not in ("", _EXCLUDED) and not line.startswith("#")]:
            return True
        folders = {self.folder / parent for path in paths for parent in PurePosixPath(path).parents}
        inner = [folder / ".git" for folder in folders if folder != self.folder]
        return any(os.path.lexists(path) for path in (*inner, *(folder / ".gitignore" for folder in folders)))

    def status(self) -> FileStatus:
        """Compare all files with the last commit."""
        # Unlike `all` untracked files, git caches which folders have no `normal` ones.
        options = ("--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all", "--untracked-files=normal")
        found = self.git("status", *options)
        entries = [(entry[:2], entry[3:]) for entry in split(found)]
        folders = [path for _, path in entries if path.endswith("/")]
        changed = [path for _, path in entries if not path.endswith("/")]
        if folders:
            inside = split(self.git("ls-files", "-z", "--others", "--exclude-standard", "--", *folders))
            changed += [path for path in inside if not path.endswith("/")]  # a nested repository ends with a slash
        unmerged = [path for state, path in entries if "U" in state or state in ("AA", "DD")]
        return FileStatus([path for path in changed if is_safe(path)], unmerged)

    def stage_files(self, paths: Iterable[str]) -> bool:
        """Bring git's index up to date with these files; false if some have to be staged again."""
        waiting = list(paths)
        # Where a folder has replaced a file, git sees the folder's files only after it has removed the file.
        is_complete = not any(os.path.isdir(self.folder / path) for path in waiting)
        while waiting:
            try:
                self.git("update-index", "-z", "--add", "--remove", "--stdin", input=_joined(waiting))
                break
            except GitFailed as error:
                unreadable = [path for path in waiting if f"Unable to process path {path}\n" in error.said]
                if not unreadable:
                    raise
                waiting.remove(unreadable[0])  # it is committed when it can be read
                is_complete = False
        return is_complete

    def stage(self, changes: Iterable[Difference]) -> None:
        """Apply these changes to git's index, before the files are changed."""
        lines = [
            f"{each.after.mode} {each.after.id}\t{each.path}" if each.after else f"0 {'0' * 40}\t{each.path}"
            for each in sorted(changes, key=lambda each: each.after is not None)  # a folder may replace a file
        ]
        if lines:
            self.git("update-index", "-z", "--index-info", input=_joined(lines))

    def commit(self, parents: Sequence[str], message: str) -> str:
        """Commit what is staged; returns the parent if there is one and nothing differs from it."""
        tree = self.git("write-tree").decode().strip()
        if len(parents) < 2 and tree == (self._tree_of(parents[0]) if parents else _EMPTY_TREE):
            return parents[0] if parents else ""
        lineage = [word for parent in parents for word in ("-p", parent)]
        commit = (
            self.git("commit-tree", tree, *lineage, "-F", "-", input=message.encode("utf-8", "surrogateescape"))
            .decode()
            .strip()
        )
        self.trees[commit] = tree
        return commit

    def commit_changes(self, changes: Iterable[Difference], parents: Sequence[str], message: str) -> str:
        """Stage these changes, and commit."""
        self.stage(changes)
        return self.commit(parents, message)

    def _tree_of(self, commit: str) -> str:
        return self.trees.get(commit) or self.line("rev-parse", f"{commit}^{{tree}}")

    def move_to(self, commit: str) -> None:
        """Move the branch and HEAD to a commit that the files agree with, and remove the pending reference."""
        changes = [f"update {MAIN} {commit}"] if self._main != commit else []
        self._update([*changes, *self._end_of_pending()])
        self._main = commit
        if not self._on_branch():
            self.git("symbolic-ref", "HEAD", MAIN)

    def _update(self, changes: Sequence[str]) -> None:
        """Change references, all or none."""
        if changes:
            self.git("update-ref", "--stdin", input="".join(f"{each}\n" for each in changes).encode())

    def _on_branch(self) -> bool:
        try:
            return (self.metadata / "HEAD").read_text("utf-8", "replace").strip() == f"ref: {MAIN}"
        except OSError:  # the folder is a worktree of a repository elsewhere
            return self.line("symbolic-ref", "--quiet", "HEAD") == MAIN

    def begin(self, commit: str) -> None:
        """Record the commit that the files are being updated to; the next sync finishes an interrupted update."""
        self._update([f"update {_PENDING} {commit}"])
        self._pending = commit

    def _end_of_pending(self) -> list[str]:
        ended, self._pending = self._pending, ""
        return [f"delete {_PENDING}"] if ended else []

    @property
    def is_merging(self) -> bool:
        """Whether a merge or rebase by git was interrupted."""
        return any((self.metadata / name).exists() for name in _UNFINISHED)

    def has(self, tree: str, path: str) -> bool:
        """Whether a commit or a tree has a file of this path."""
        return bool(self.line("rev-parse", "--verify", "--quiet", f"{tree}:{path}"))

    def unfinished(self) -> list[str]:
        """The commits that an interrupted sync, merge or rebase had not merged yet. Needs `locate`."""
        found = [self._pending]
        for name in _UNFINISHED_COMMITS:
            with contextlib.suppress(OSError):
                found += (self.metadata / name).read_text("utf-8", "replace").split()
        if not self._on_branch():
            found.append(self._main)
        return [
            commit
            for commit in found
            if commit and self.line("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}")
        ]

    def finish(self) -> None:
        """Remove the state files of an interrupted sync, merge or rebase, whose commits are merged."""
        self._update(self._end_of_pending())
        for name in _UNFINISHED:
            path = self.metadata / name
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)

    def pack(self) -> None:
        """Pack the loose objects if they are many or large."""
        with contextlib.suppress(OSError, GitFailed):
            sizes = [
                file.stat().st_size
                for folder in os.scandir(self.metadata / "objects")
                if len(folder.name) == 2  # git's 256 folders of loose objects
                for file in os.scandir(folder)
            ]
            if len(sizes) > _MOST_LOOSE_OBJECTS or sum(sizes) > _MOST_LOOSE_BYTES:
                self.git("repack", "-d", "-l", "-q", "--geometric=2")

    def common(self, one: str, two: str) -> str:
        """The merge base of two commits; "" if there is none."""
        return self.line("merge-base", one, two)

    def divergence(self, one: str, two: str) -> tuple[int, int]:
        """The number of commits that are only in the history of the first, and only in that of the second."""
        ones, twos = self.git("rev-list", "--left-right", "--count", f"{one}...{two}").split()
        return int(ones), int(twos)

    def count_missing(self, commit: str, known: str) -> int:
        """How many commits are in the history of `commit` and not in that of `known`."""
        return int(self.git("rev-list", "--count", commit, *([f"^{known}"] if known else [])))

    def differences(self, before: str, after: str) -> list[Difference]:
        """The differences between two commits; "" stands for an empty tree."""
        fields = split(self.git("diff-tree", "-r", "-z", "--no-renames", before or _EMPTY_TREE, after))
        found = []
        for facts, path in zip(fields[::2], fields[1::2], strict=True):
            old_mode, new_mode, old, new, _ = facts.removeprefix(":").split(" ")
            found.append(Difference(path, _blob(old_mode, old), _blob(new_mode, new)))
        return found

    def versions_before(self, path: str) -> list[bytes]:
        """The contents of a file that its current one was made from: those before the commit that wrote this one.

        What was there before the file was removed does not count: a file that came back may have another origin.
        """
        if not self.has("HEAD", path):
            return []
        now = self.line("rev-parse", f"HEAD:{path}")
        last = self.line(
            "log", "-1", "--no-merges", "--format=%H", "--full-history", f"--find-object={now}", "--", path
        )
        if not last:
            return []
        output = self.git("log", "-z", "--format=", "--raw", "--no-abbrev", "--no-renames", last, "--", path)
        blobs = [_blob(*words.split(" ")[1:4:2]) for words in split(output) if words.startswith(":")]
        return [*self.contents(takewhile(bool, blobs)).values()]

    def blocking(self, commit: str) -> list[Difference]:
        """The removal of each entry of a commit that has the name of a note type's folder and is no folder."""
        found = []
        for entry in split(self.git("ls-tree", "-z", commit)) if commit else ():
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
        """Write contents as blobs."""
        if not contents:
            return []
        with tempfile.TemporaryDirectory(dir=self.metadata) as folder:
            paths = [Path(folder, str(number)) for number in range(len(contents))]
            for path, content in zip(paths, contents, strict=True):
                path.write_bytes(content)
            names = "".join(f"{path.relative_to(self.folder).as_posix()}\n" for path in paths).encode()
            output = self.git("hash-object", "-w", "--no-filters", "--stdin-paths", input=names)
        return [Blob(_FILE_MODE, each) for each in output.decode().split()]


def _append_line(path: Path, line: str) -> None:
    known = path.read_text("utf-8", "surrogateescape") if path.exists() else ""
    if line not in known.splitlines():
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{known}{line}\n", "utf-8", "surrogateescape")


def _blob(mode: str, name: str) -> Blob | None:
    return Blob(mode, name) if name.strip("0") else None


def split(output: bytes) -> list[str]:
    """Split output of `-z`; paths that are not UTF-8 are kept as surrogates."""
    return [part.decode("utf-8", "surrogateescape") for part in output.split(b"\0") if part]


def _joined(parts: Iterable[str]) -> bytes:
    return b"".join(part.encode("utf-8", "surrogateescape") + b"\0" for part in parts)
