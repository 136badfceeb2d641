"""The remote of the notes' repository: its address, fetch and push. Only these see the user's own settings of git.

A remote that is no repository of notes is refused, so that private notes are not pushed into another one. The marker of
ours is a commit of a sync: the last one, or any in the history of a branch that holds notes or nothing but markdown. A
remote without the marker is joined if it holds nothing but notes in their folders and the files that a host makes for a
new repository.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from anamnesis.git import GitFailed, NoAnswer
from anamnesis.plain import one_line
from anamnesis.store.files import describes_repository, is_type_folder
from anamnesis.sync.repository import AUTHOR, BRANCH, MAIN, MESSAGE, Repository, split

_BRANCHES = "refs/remotes/origin/"
_REFSPEC = f"+refs/heads/*:{_BRANCHES}*"
_FETCH = ("--quiet", "--no-tags", "--prune", "--no-auto-maintenance", "--no-recurse-submodules")
_PUSH = ("--quiet", "--porcelain", "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no")
# git's messages when another machine has pushed, or is pushing.
_MOVED = re.compile(r"\[rejected\]|failed to update ref|cannot lock ref|incorrect old value")
# In an https address, a user name without a password is a token.
_PASSWORD = re.compile(r"(https?://|://[^/:]*:)[^/]*@", re.IGNORECASE)
_HOST = re.compile(r"(?:[^/]*@)?([^/:]*)(:?)")
_ADOPTED = "remote.origin.adopted"  # removed with the address
_MOST_OF_A_PATH = 80
# Seconds within which a remote has to answer.
CONNECT_TIMEOUT = 20.0


class Rejected(GitFailed):
    """Another machine has pushed since the fetch."""


class Foreign(GitFailed):
    """The remote is no repository of notes."""


class Remote:
    """The remote of a repository; each exchange with it ends within the timeout, in seconds.

    With `adopt` it is joined even if it is no repository of notes, from then on.
    """

    def __init__(
        self,
        repository: Repository,
        address: str,
        timeout: float,
        *,
        adopt: bool = False,
        connect_timeout: float = CONNECT_TIMEOUT,
    ) -> None:
        self._repository = repository
        self._address = address
        self._timeout = timeout
        self._adopt = adopt
        self._connect_timeout = min(connect_timeout, timeout)
        self.host = _host(address) or self.shown

    @property
    def shown(self) -> str:
        """The address as it may be shown: without a password."""
        return without_password(self._address)

    def set_address(self) -> None:
        """Set the address in git's configuration, and remove the branches of another remote."""
        git = self._repository
        if git.line("config", "--get-all", "remote.origin.url") == self._address:
            return
        git.line("config", "--remove-section", "remote.origin")
        git.git("config", "remote.origin.url", self._address)
        git.git("config", "remote.origin.fetch", _REFSPEC)
        for name in git.references(_BRANCHES):
            git.git("update-ref", "-d", name)

    def fetch(self) -> None:
        """Fetch all branches of the remote."""
        try:
            self._run("fetch", *_FETCH, "origin", _REFSPEC)
        except GitFailed as error:
            if not _MOVED.search(error.message):
                raise
            self._run("fetch", *_FETCH, "origin", _REFSPEC)  # the fetch of a killed sync was still running

    def head(self) -> tuple[str, str]:
        """The main branch as it was fetched, and the commit to bring in: that, or the default branch of a remote
        without a main one. "" where there is none."""
        branches = self._repository.references(_BRANCHES)
        if len(branches) > 1 and _BRANCHES + BRANCH not in branches:
            listed = self._run("ls-remote", "--symref", "origin", "HEAD").decode()
            default = listed.partition("\t")[0].removeprefix("ref: refs/heads/")
            return "", branches.get(_BRANCHES + default) or min(branches.values())
        main = branches.get(_BRANCHES + BRANCH, "")
        return main, main or next(iter(branches.values()), "")

    def check(self, commit: str) -> None:
        """Refuse the remote, as it was fetched with this commit to bring in, if it is no repository of notes."""
        git = self._repository
        foreign = _find_foreign(git, commit, git.references(_BRANCHES).values())
        if not foreign or git.line("config", "--get", _ADOPTED):
            return
        if not self._adopt:
            raise Foreign(
                f"nothing was sent to or received from {self.shown}, which is not a repository of notes (it holds"
                f" {one_line(foreign, _MOST_OF_A_PATH)}): set another `remote`, or run `anamnesis sync --adopt` to join"
                " it anyway"
            )
        git.git("config", _ADOPTED, "true")

    def push(self, commit: str) -> None:
        """Move the remote's main branch to this commit."""
        try:
            self._run("push", *_PUSH, "origin", f"{commit}:{MAIN}")
        except GitFailed as error:
            raise (Rejected if _MOVED.search(error.message) else GitFailed)(error.message) from None

    def _run(self, *arguments: str) -> bytes:
        try:
            return self._repository.git(
                *arguments, as_user=True, timeout=self._timeout, connect_timeout=self._connect_timeout
            )
        except NoAnswer as error:
            raise GitFailed(f"{self.host} did not answer within {error.seconds:g} s") from None


def without_password(address: str) -> str:
    """An address as it may be shown."""
    return _PASSWORD.sub(r"\1***@", address)


def _host(address: str) -> str:
    """The host in an address like ssh://user@host:22/path or user@host:path; "" in a path."""
    _, is_url, rest = address.partition("://")
    found = _HOST.match(rest if is_url else address)
    return found[1] if found and (is_url or found[2]) else ""


def _find_foreign(repository: Repository, main: str, branches: Iterable[str]) -> str:
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
