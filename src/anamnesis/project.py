"""The project of a folder: the same key for the same repository on every machine."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from anamnesis.errors import InvalidArgument
from anamnesis.light import lazy_pattern
from anamnesis.notes.record import GLOBAL
from anamnesis.trust import Claim, ignore, is_accepted, provided

MARKER = ".anamnesis/project"
_MOST_MARKER = 1024
MOST_KEY = 200
_REFUSED = '" $ * ; < = > ? \\ ^ ` { | }'
_NOT_IN_KEY = lazy_pattern(f"[{re.escape(_REFUSED.replace(' ', ''))}]")
# Hosts that serve ssh on the https port, for networks with only that port open.
_SSH_OVER_HTTPS = {
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
}


class Project(NamedTuple):
    """The project of a folder: its key, the source of the key, and a marker that is ignored until it is trusted."""

    key: str
    source: str
    ignored: Claim | None = None


def find_project(folder: str | Path, home: Path, user_home: Path | None) -> Project:
    """The project of a folder: by a marker file, its git origin, its repository's name or its own.

    `home` is ANAMNESIS_HOME, which records the trusted markers. A marker in `user_home` or above does not count.
    """
    folder = Path(folder).absolute()
    marker, ignored = _find_marker(folder, home, user_home)
    if marker:
        return Project(marker.name, str(marker.path), ignored)
    origin = git_says(folder, "remote", "get-url", "origin")
    if origin and (key := cleaned_key(normalize_remote(origin, folder))):
        return Project(key, "the git remote origin", ignored)
    if name := _repository_name(folder):
        return Project(cleaned_key(name.lower()) or GLOBAL, "the name of the git repository", ignored)
    return Project(cleaned_key(folder.name.lower()) or GLOBAL, "the name of the folder", ignored)


def is_key(text: str) -> bool:
    """Whether a text is a valid project key."""
    return 0 < len(text) <= MOST_KEY and text == text.strip() and not _NOT_IN_KEY.search(text) and text.isprintable()


def check_key(text: str) -> str:
    """The text, if it is a valid project key."""
    if not is_key(text):
        raise InvalidArgument(
            f"{text[:40]!r} cannot be the key of a project.",
            f"A key has at most {MOST_KEY} characters, and none of {_REFUSED}",
        )
    return text


def cleaned_key(text: str) -> str:
    """A valid key from a name that git or the folder gives."""
    clean = _NOT_IN_KEY.sub("-", "".join(letter if letter.isprintable() else "-" for letter in text)).strip()
    if len(clean) <= MOST_KEY:
        return clean
    import hashlib  # only for the few that are too long

    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()
    return f"{clean[: MOST_KEY - 17]}-{digest}"


def normalize_remote(url: str, folder: Path | None = None) -> str:
    """The same key for every form of a remote: without scheme, user, port and `.git`, in lower case."""
    url = re.sub(r"^[A-Za-z0-9-]+::(?=.)", "", url.strip()).replace("\\", "/")
    scheme = re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", url)
    drive = re.match(r"[A-Za-z]:/", url)
    scp = re.match(r"(?:[^/]*@)?(\[[^\]/]+\]|[^/:@]+):(.*)", url)
    if scheme and scheme.group().lower() != "file://":
        authority, _, path = url[scheme.end() :].partition("/")
        if re.search(r":[^]@]*[^]@\d][^]@]*$", authority):  # the beginning of a password that contains a slash
            authority, _, path = path.rpartition("@")[2].partition("/")
        host, path = (re.split("[?#]", part, maxsplit=1)[0] for part in (authority.rpartition("@")[2], path))
        host = re.sub(r":\d*$", "", host)
    elif scp and not scheme and not drive:
        host, path = scp.groups()
    else:
        host, path = "", _local_path(url[scheme.end() :] if scheme else url, folder)
    host = _SSH_OVER_HTTPS.get(host.lower(), host).strip("[]")
    path = re.sub(r"/{2,}", "/", path).rstrip("/").removesuffix(".git").rstrip("/")
    return (f"{host}/{path.lstrip('/')}" if host else path).lower()


def _local_path(path: str, folder: Path | None) -> str:
    """The path of a local remote; a relative one is resolved against the folder."""
    if folder and path.startswith("."):
        return os.path.normpath(folder / path)
    return path


def _find_marker(folder: Path, home: Path, user_home: Path | None) -> tuple[Claim | None, Claim | None]:
    """The nearest accepted marker below home and root, and a nearer one that is not trusted."""
    outside = {user_home, Path(folder.anchor)}
    ignored = None
    for place in (folder, *folder.parents):
        if place in outside:
            break
        claim = _read_marker(home, place)
        if claim and is_accepted(home, claim, normalize_remote):
            return claim, ignored
        ignored = ignored or claim
    return None, ignored


def _read_marker(home: Path, folder: Path) -> Claim | None:
    """The first line of a folder's marker; an invalid key is logged once and ignored."""
    lines = (provided(home, folder, MARKER, _MOST_MARKER) or b"").decode("utf-8", "replace").splitlines()
    key = next((line.strip() for line in lines if line.strip()), "")
    if key and not is_key(key):
        ignore(home, folder / MARKER, "Its first line cannot be the key of a project.")
    return Claim(folder, MARKER, key) if is_key(key) else None


def _repository_name(folder: Path) -> str:
    """The name of the repository's root; a linked worktree has the main repository's name."""
    common = git_says(folder, "rev-parse", "--path-format=absolute", "--git-common-dir")
    if common and Path(common).name == ".git":
        return Path(common).parent.name
    return Path(git_says(folder, "rev-parse", "--show-toplevel")).name


def git_says(folder: Path, *arguments: str) -> str:
    """git's output for a folder; "" if it fails. git is started only where it may find a repository."""
    if not may_be_in_repository(folder):
        return ""
    from anamnesis.git import GitFailed, git  # 5 ms that most commands need not spend

    try:
        said = git(folder, *arguments, as_user=True, variables={"GIT_OPTIONAL_LOCKS": "0"}, timeout=5)
    except GitFailed:
        return ""
    return said.decode("utf-8", "replace").strip()


def may_be_in_repository(folder: Path) -> bool:
    """Whether the folder or one above it has a `.git`, or the HEAD that a bare repository has in its place."""
    real = os.path.realpath(folder)
    places = [real, *map(str, Path(real).parents)]
    return any(os.path.lexists(os.path.join(place, name)) for place in places for name in (".git", "HEAD"))
