"""Which project a folder belongs to: one key for the same repository on every machine."""

from __future__ import annotations

import os
import re
from pathlib import Path

GLOBAL = "global"
_MARKER = Path(".anamnesis", "project")
# The hosts that serve ssh on the https port, for networks that let nothing else through.
_SSH_OVER_HTTPS = {
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
}


def resolve_project_key(cwd: str | Path) -> str:
    """The key of a folder's project: a marker file, its git origin, its repository's name or its own."""
    folder = Path(cwd).absolute()
    if marked := _read_marker(folder):
        return marked
    if origin := git_says(folder, "remote", "get-url", "origin"):
        return normalize_remote(origin, folder)
    return (_repository_name(folder) or folder.name).lower() or GLOBAL


def normalize_remote(url: str, folder: Path | None = None) -> str:
    """The same key for every form of a remote: without scheme, user, port and `.git`, in lower case."""
    url = url.strip().replace("\\", "/")
    scheme = re.match(r"[a-z][a-z0-9+.-]*://", url, re.IGNORECASE)
    drive = re.match(r"[a-z]:/", url, re.IGNORECASE)
    scp = re.match(r"(?:[^/@]*@)?(\[[^\]/]+\]|[^/:]+):(.*)", url)
    if scheme and scheme.group().lower() != "file://":
        authority, _, path = url[scheme.end() :].partition("/")
        host = re.sub(r":\d*$", "", authority.rpartition("@")[2])
    elif scp and not scheme and not drive:
        host, path = scp.groups()
    else:
        host, path = "", _local_path(url[scheme.end() :] if scheme else url, folder)
    host = _SSH_OVER_HTTPS.get(host.lower(), host).strip("[]")
    path = re.sub(r"/{2,}", "/", path).rstrip("/").removesuffix(".git").rstrip("/")
    return (f"{host}/{path.lstrip('/')}" if host else path).lower()


def _local_path(path: str, folder: Path | None) -> str:
    """A relative remote is a place only together with the folder it is relative to."""
    if folder and path.startswith("."):
        return os.path.normpath(folder / path)
    return path


def _read_marker(folder: Path) -> str:
    """The first line of the nearest marker below the home folder and the root."""
    outside = {Path.home(), Path(folder.anchor)}
    for place in (folder, *folder.parents):
        if place in outside:
            break
        try:
            lines = (place / _MARKER).read_text("utf-8", "replace").splitlines()
        except OSError:
            continue
        if key := next((line.strip() for line in lines if line.strip()), ""):
            return key
    return ""


def _repository_name(folder: Path) -> str:
    """The name of the repository's root; a linked worktree has the name of the repository it belongs to."""
    common = git_says(folder, "rev-parse", "--path-format=absolute", "--git-common-dir")
    if common and Path(common).name == ".git":
        return Path(common).parent.name
    return Path(git_says(folder, "rev-parse", "--show-toplevel")).name


def git_says(folder: Path, *arguments: str) -> str:
    """What git says about a folder; "" if nothing."""
    from anamnesis.git import GitFailed, git  # 5 ms that most commands need not spend

    try:
        said = git(folder, *arguments, as_user=True, variables={"GIT_OPTIONAL_LOCKS": "0"}, timeout=5)
    except GitFailed:
        return ""
    return said.decode("utf-8", "replace").strip()
