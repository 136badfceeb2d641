"""Finds files that still contain a word."""

from __future__ import annotations

from pathlib import Path

# Without common prefixes, because a word index stores only the difference to the previous word.
TITLE, BODY, REVISED = "qxzebra", "jxwalrus", "vxnarwhal"


def holding(*folders: Path, words: tuple[str, ...] = (TITLE, BODY, REVISED)) -> dict[str, list[str]]:
    """The files that contain a word, or one without its first letter, with these words; .git is skipped."""
    found: dict[str, list[str]] = {}
    for folder in folders:
        for path in folder.rglob("*"):
            inside = path.relative_to(folder)
            if path.is_file() and ".git" not in inside.parts:
                data = path.read_bytes().lower()
                if held := [word for word in words if word[1:].encode() in data]:
                    found[str(inside)] = held
    return found
