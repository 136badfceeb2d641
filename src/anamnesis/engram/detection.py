"""Which project Engram takes a folder for: one short name, where Anamnesis has a key with host and owner."""

from __future__ import annotations

import json
from pathlib import Path

from anamnesis.engram.strings import to_lower, trim_space
from anamnesis.project import git_says

_UNKNOWN = "unknown"


def detect(folder: Path) -> str:
    """A name that somebody set, the name of the git origin, of the repository's root or of the folder."""
    folder = folder.absolute()
    name = (
        _configured(folder)
        or _repository(git_says(folder, "remote", "get-url", "origin"))
        or Path(git_says(folder, "rev-parse", "--show-toplevel")).name
        or folder.name
    )
    return trim_space(to_lower(name)) or _UNKNOWN


def _repository(url: str) -> str:
    """The last part of a remote's address, whatever separates the parts."""
    parts = [part for part in url.removesuffix(".git").replace(":", "/").split("/") if part]
    return parts[-1] if parts else ""


def _configured(folder: Path) -> str:
    """The name that later Engrams keep in `.engram/config.json` of the repository, or of the folder."""
    root = next((place for place in (folder, *folder.parents) if (place / ".git").exists()), folder)
    try:
        content = json.loads((root / ".engram" / "config.json").read_bytes())
    except (OSError, ValueError):
        return ""
    name = content.get("project_name") if isinstance(content, dict) else None
    return name if isinstance(name, str) and name.isprintable() and not {"/", "\\"} & set(name) else ""
