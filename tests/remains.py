"""Which files still hold a word."""

from __future__ import annotations

from pathlib import Path

# None begins like another word, for an index of words keeps only how a word differs from the one before it.
TITLE, BODY, REVISED = "qxzebra", "jxwalrus", "vxnarwhal"


def holding(*folders: Path, words: tuple[str, ...] = (TITLE, BODY, REVISED)) -> dict[str, list[str]]:
    """The files that hold one of the words, or most of one, and which; without git's own folder."""
    found: dict[str, list[str]] = {}
    for folder in folders:
        for path in folder.rglob("*"):
            inside = path.relative_to(folder)
            if path.is_file() and ".git" not in inside.parts:
                data = path.read_bytes().lower()
                if held := [word for word in words if word[1:].encode() in data]:
                    found[str(inside)] = held
    return found
