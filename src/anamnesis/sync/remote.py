"""The remote of the notes' repository: its address, fetch and push. Only these see the user's own settings of git."""

from __future__ import annotations

import re

from anamnesis.git import GitFailed, NoAnswer
from anamnesis.plain import one_line
from anamnesis.sync.joining import find_foreign
from anamnesis.sync.repository import BRANCH, MAIN, Repository

_BRANCHES = "refs/remotes/origin/"
_REFSPEC = f"+refs/heads/*:{_BRANCHES}*"
_FETCH = ("--quiet", "--no-tags", "--prune", "--no-auto-maintenance", "--no-recurse-submodules")
_PUSH = ("--quiet", "--porcelain", "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no")
# How git says that another machine has pushed since, or is pushing now.
_MOVED = re.compile(r"\[rejected\]|failed to update ref|cannot lock ref|incorrect old value")
# By https, a name without a password is a password too: a token.
_PASSWORD = re.compile(r"(https?://|://[^/:]*:)[^/]*@", re.IGNORECASE)
_HOST = re.compile(r"(?:[^/]*@)?([^/:]*)(:?)")
_ADOPTED = "remote.origin.adopted"  # removed with the address
_MOST_OF_A_PATH = 80
# Seconds within which a remote has to answer.
CONNECT_TIMEOUT = 20.0


class Rejected(GitFailed):
    """The remote has moved since it was fetched."""


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
        return _PASSWORD.sub(r"\1***@", self._address)

    def set_address(self) -> None:
        """Set the address in git's settings, and forget what is known of another remote."""
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
        foreign = find_foreign(git, commit, git.references(_BRANCHES).values())
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


def _host(address: str) -> str:
    """The host in an address like ssh://user@host:22/path or user@host:path; "" in a path."""
    _, is_url, rest = address.partition("://")
    found = _HOST.match(rest if is_url else address)
    return found[1] if found and (is_url or found[2]) else ""
