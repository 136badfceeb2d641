"""Which project a folder belongs to: one key for the same repository on every machine."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from anamnesis.errors import InvalidArgument
from anamnesis.trust import Claim, ignore, is_accepted, provided

GLOBAL = "global"
MARKER = ".anamnesis/project"
_MOST_MARKER = 1024
MOST_KEY = 200
_REFUSED = '" $ * ; < = > ? \\ ^ ` { | }'
_NOT_IN_KEY = re.compile(f"[{re.escape(_REFUSED.replace(' ', ''))}]")
# The hosts that serve ssh on the https port, for networks that let nothing else through.
_SSH_OVER_HTTPS = {
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
}


class Project(NamedTuple):
    """The project of a folder: its key, where that comes from, and a marker that was ignored as long as nobody trusts
    it."""

    key: str
    source: str
    ignored: Claim | None = None


def resolve_project_key(cwd: str | Path) -> str:
    """The key of a folder's project: a marker file, its git origin, its repository's name or its own."""
    return resolve_project(cwd).key


def resolve_project(cwd: str | Path) -> Project:
    """The project of a folder, with the reason."""
    folder = Path(cwd).absolute()
    marker, ignored = _find_marker(folder)
    if marker:
        return Project(marker.name, str(marker.path), ignored)
    origin = git_says(folder, "remote", "get-url", "origin")
    if origin and (key := _cleaned(normalize_remote(origin, folder))):
        return Project(key, "the git remote origin", ignored)
    if name := _repository_name(folder):
        return Project(_cleaned(name.lower()) or GLOBAL, "the name of the git repository", ignored)
    return Project(_cleaned(folder.name.lower()) or GLOBAL, "the name of the folder", ignored)


def is_key(text: str) -> bool:
    """Whether a text can be the key of a project."""
    return 0 < len(text) <= MOST_KEY and text == text.strip() and not _NOT_IN_KEY.search(text) and text.isprintable()


def check_key(text: str) -> str:
    """The text, if it can be the key of a project."""
    if not is_key(text):
        raise InvalidArgument(
            f"{text[:40]!r} cannot be the key of a project.",
            f"A key has at most {MOST_KEY} characters, and none of {_REFUSED}",
        )
    return text


def _cleaned(text: str) -> str:
    """A key of a name that git or the folder gives, which may hold what no key can."""
    clean = _NOT_IN_KEY.sub("-", "".join(letter if letter.isprintable() else "-" for letter in text)).strip()
    if len(clean) <= MOST_KEY:
        return clean
    import hashlib  # for the few whose beginnings may be the same

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
        if re.search(r":[^]@]*[^]@\d][^]@]*$", authority):  # the beginning of a password that has a slash in it
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
    """A relative remote is a place only together with the folder it is relative to."""
    if folder and path.startswith("."):
        return os.path.normpath(folder / path)
    return path


def _find_marker(folder: Path) -> tuple[Claim | None, Claim | None]:
    """The nearest marker below the home folder and the root, and one nearer that is not trusted."""
    outside = {Path.home(), Path(folder.anchor)}
    ignored = None
    for place in (folder, *folder.parents):
        if place in outside:
            break
        claim = _read_marker(place)
        if claim and is_accepted(claim, normalize_remote):
            return claim, ignored
        ignored = ignored or claim
    return None, ignored


def _read_marker(folder: Path) -> Claim | None:
    """What the first line of a folder's marker says; one that cannot be a key is logged once and ignored."""
    lines = (provided(folder, MARKER, _MOST_MARKER) or b"").decode("utf-8", "replace").splitlines()
    key = next((line.strip() for line in lines if line.strip()), "")
    if key and not is_key(key):
        ignore(folder / MARKER, "Its first line cannot be the key of a project.")
    return Claim(folder, MARKER, key) if is_key(key) else None


def _repository_name(folder: Path) -> str:
    """The name of the repository's root; a linked worktree has the name of the repository it belongs to."""
    common = git_says(folder, "rev-parse", "--path-format=absolute", "--git-common-dir")
    if common and Path(common).name == ".git":
        return Path(common).parent.name
    return Path(git_says(folder, "rev-parse", "--show-toplevel")).name


def git_says(folder: Path, *arguments: str) -> str:
    """What git says about a folder; "" if nothing. It is started only where it may find a repository."""
    if not _may_be_in_repository(folder):
        return ""
    from anamnesis.git import GitFailed, git  # 5 ms that most commands need not spend

    try:
        said = git(folder, *arguments, as_user=True, variables={"GIT_OPTIONAL_LOCKS": "0"}, timeout=5)
    except GitFailed:
        return ""
    return said.decode("utf-8", "replace").strip()


def _may_be_in_repository(folder: Path) -> bool:
    """Whether the folder or one above it has a `.git`, or the HEAD that a bare repository has in its place."""
    real = os.path.realpath(folder)
    places = [real, *map(str, Path(real).parents)]
    return any(os.path.lexists(os.path.join(place, name)) for place in places for name in (".git", "HEAD"))
