"""The files that a session changed: the calls of editing tools that were neither refused nor failed."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

# Paths, and whether each file is new.
Paths = dict[str, bool]

_KEYS = ("file_path", "notebook_path", "path", "filePath", "target_file", "target_notebook", "TargetFile")
_PATCHERS = ("apply_patch", "ApplyPatch", "patch")
_PATCHED = re.compile(r"^\*\*\* (?:(Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)


class Edits:
    """Calls of editing tools in order, with their results. A call without a result counts as done."""

    def __init__(self) -> None:
        self._calls: dict[object, Paths] = {}
        # Calls without a result yet: the tool by the call's id.
        self.waiting: dict[str, str] = {}

    def call(self, call: object, paths: Paths, tool: str = "") -> None:
        """Record a call. Without a valid id, it can have no result."""
        if not paths:
            return
        if isinstance(call, str) and call:
            self.waiting[call] = tool
            self._calls[call] = paths
        else:
            known = self._calls.setdefault(tuple(paths), paths)
            known.update({path: True for path, new in paths.items() if new})

    def result(self, call: str, *, made: bool = True, new: bool = False) -> None:
        """Record the result of a call; a result without a waiting call is ignored."""
        if self.waiting.pop(call, None) is None:
            return
        if not made:
            del self._calls[call]
        elif new:
            self._calls[call] = dict.fromkeys(self._calls[call], True)

    def touched(self, cwd: str) -> tuple[list[str], list[str]]:
        """The changed files and the new ones among them, in the order of the first edits, relative to `cwd`."""
        paths: Paths = {}
        for edited in self._calls.values():
            for path, new in edited.items():
                name = _relative(path, cwd)
                paths[name] = paths.get(name, False) or new
        return list(paths), [path for path, new in paths.items() if new]


def edited(tool: object, given: object, editors: Collection[str]) -> Paths:
    """The files that a call edits; none if its tool is not an editor."""
    if tool in _PATCHERS and tool in editors:
        texts = given.values() if isinstance(given, Mapping) else (given,)
        return {path: new for text in texts if isinstance(text, str) for path, new in patched(text).items()}
    if not isinstance(tool, str) or tool not in editors or not isinstance(given, Mapping):
        return {}
    values = (given.get(key) for key in _KEYS)
    path = next((value for value in values if isinstance(value, str) and value), "")
    return {local_path(path): False} if path else {}


def patched(patch: str) -> Paths:
    """The files changed by a patch in Codex's format."""
    return {path.strip(): kind == "Add" for kind, path in _PATCHED.findall(patch) if path.strip()}


def local_path(path: str) -> str:
    """A file's path; a `file://` URL is converted."""
    if not path.startswith("file://"):
        return path
    from urllib.parse import unquote

    return unquote(path.removeprefix("file://"))


def _relative(path: str, folder: str) -> str:
    folder = folder.rstrip("/\\")
    inside = folder and path.startswith(folder) and path[len(folder) : len(folder) + 1] in ("/", "\\")
    return path[len(folder) + 1 :] or path if inside else path
