"""The project that Engram detects for a folder: a short name, where Anamnesis has a key with host and owner."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from anamnesis.engram.strings import to_lower, trim_space
from anamnesis.project import MOST_KEY, git_says, normalize_remote
from anamnesis.trust import Claim, is_accepted, provided

_UNKNOWN = "unknown"
CONFIG = ".engram/config.json"
_MOST_CONFIG = 64 * 1024


@dataclass(frozen=True, slots=True)
class Detected:
    """A project's name, its source in Engram's terms, and a name that is ignored until it is trusted."""

    project: str
    source: str
    ignored: Claim | None = None


def detect(folder: Path, home: Path) -> str:
    """The project's name: configured, from the git origin, the repository's root or the folder."""
    return detected(folder, home).project


def detected(folder: Path, home: Path) -> Detected:
    """The project of a folder, with the reason; `home` is ANAMNESIS_HOME, which records the trusted names."""
    folder = folder.absolute()
    claim = _configured(folder, home)
    if claim and is_accepted(home, claim, lambda url, _: _normal(_repository(url))):
        return Detected(claim.name, "config")
    if name := _repository(git_says(folder, "remote", "get-url", "origin")):
        source = "git_remote"
    elif name := Path(git_says(folder, "rev-parse", "--show-toplevel")).name:
        source = "git_root"
    else:
        name, source = folder.name, "dir_basename"
    return Detected(_normal(name), source, claim)


def _normal(name: str) -> str:
    return trim_space(to_lower(name)) or _UNKNOWN


def _repository(url: str) -> str:
    """The last part of a remote's URL, which never contains credentials."""
    return normalize_remote(url).rpartition("/")[2]


def _configured(folder: Path, home: Path) -> Claim | None:
    """The name in `.engram/config.json` of the repository or the folder, as later versions of Engram write it."""
    root = next((place for place in (folder, *folder.parents) if os.path.exists(place / ".git")), folder)
    try:
        content = json.loads(provided(home, root, CONFIG, _MOST_CONFIG) or b"{}")
    except (ValueError, RecursionError):
        return None
    name = content.get("project_name") if isinstance(content, dict) else None
    if not isinstance(name, str) or not name.isprintable() or {"/", "\\"} & set(name) or len(name) > MOST_KEY:
        return None
    return Claim(root, CONFIG, _normal(name)) if trim_space(name) else None
