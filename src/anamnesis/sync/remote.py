"""The remote of the notes' repository: its address, fetch and push. Only these see the user's own settings of git."""

from __future__ import annotations

import re

from anamnesis.git import GitFailed
from anamnesis.sync.repository import BRANCH, MAIN, Repository

_BRANCHES = "refs/remotes/origin/"
_REFSPEC = f"+refs/heads/*:{_BRANCHES}*"
_FETCH = ("--quiet", "--no-tags", "--prune", "--no-auto-maintenance", "--no-recurse-submodules")
_PUSH = ("--quiet", "--porcelain", "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no")
# How git says that another machine has pushed since, or is pushing now.
_MOVED = re.compile(r"\[rejected\]|failed to update ref|cannot lock ref|incorrect old value")


class Rejected(GitFailed):
    """The remote has moved since it was fetched."""


class Remote:
    """The remote of a repository; each exchange with it ends within the timeout, in seconds."""

    def __init__(self, repository: Repository, timeout: float) -> None:
        self._repository = repository
        self._timeout = timeout

    def set_address(self, url: str) -> None:
        """Set the address, and forget what is known of another remote."""
        git = self._repository
        if git.line("config", "--get-all", "remote.origin.url") == url:
            return
        git.line("config", "--remove-section", "remote.origin")
        git.git("config", "remote.origin.url", url)
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

    def push(self, commit: str) -> None:
        """Move the remote's main branch to this commit."""
        try:
            self._run("push", *_PUSH, "origin", f"{commit}:{MAIN}")
        except GitFailed as error:
            raise (Rejected if _MOVED.search(error.message) else GitFailed)(error.message) from None

    def _run(self, *arguments: str) -> bytes:
        return self._repository.git(*arguments, as_user=True, timeout=self._timeout)
