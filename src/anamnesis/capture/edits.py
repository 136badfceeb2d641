"""The files that a session changed: the calls of editing tools, but for those that were refused or failed."""

from __future__ import annotations

import re
from typing import Any

from anamnesis.capture.lines import blocks_of, message_of, texts_of

# Claude Code's own tools, and the usual names in MCP servers and other agents.
_EDITORS = ("Write", "Edit", "MultiEdit", "NotebookEdit", "write_file", "edit_file", "create_file", "apply_patch")
_PATHS = ("file_path", "notebook_path", "path", "filePath")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)


class Edits:
    """Calls of editing tools in order, and what became of them."""

    def __init__(self) -> None:
        self._calls: dict[object, list[str]] = {}
        self._created: set[str] = set()
        # The tools of calls whose results are still to come, by the calls' ids.
        self.waiting: dict[str, str] = {}

    def take(self, entry: dict[str, Any]) -> None:
        """Note the calls or the results in a line."""
        if entry.get("type") == "assistant":
            self._take_calls(entry)
        elif self.waiting and entry.get("type") == "user":
            self._take_results(entry)

    def touched(self, cwd: str) -> tuple[list[str], list[str]]:
        """The files, and those of them that are new, in the order of the first edits, relative to `cwd`."""
        paths = dict.fromkeys(path for paths in self._calls.values() for path in paths)
        created = [_relative(path, cwd) for path in paths if path in self._created]
        return list(dict.fromkeys(_relative(path, cwd) for path in paths)), list(dict.fromkeys(created))

    def _take_calls(self, entry: dict[str, Any]) -> None:
        for block in blocks_of(message_of(entry).get("content")):
            if block.get("type") == "tool_use" and (paths := _paths(block)):
                call = block.get("id")
                if isinstance(call, str):
                    self.waiting[call] = block["name"]
                    self._calls[call] = paths
                else:
                    self._calls[object()] = paths

    def _take_results(self, entry: dict[str, Any]) -> None:
        """Forget the edits that were not made; a call without a result was made."""
        result = entry.get("toolUseResult")
        for block in blocks_of(message_of(entry).get("content")):
            call = block.get("tool_use_id")
            if not isinstance(call, str) or call not in self.waiting:
                continue
            foreign = self.waiting.pop(call).startswith("mcp__")
            # A refusal is a plain text where the result of Claude Code's own tool is an object.
            if block.get("is_error") or (isinstance(result, str) and not foreign):
                del self._calls[call]
            elif _says_created(block, result):
                self._created.update(self._calls[call])


def _paths(call: dict[str, Any]) -> list[str]:
    """The files that a call edits; none if its tool is no editing tool."""
    name, given = call.get("name"), call.get("input")
    if not isinstance(name, str) or not isinstance(given, dict):
        return []
    name = name.rpartition("__")[2]
    if name == "apply_patch":
        patches = (text for text in given.values() if isinstance(text, str))
        return [path.strip() for text in patches for path in _PATCHED.findall(text)]
    values = (given.get(key) for key in _PATHS) if name in _EDITORS else ()
    return [value for value in values if isinstance(value, str) and value][:1]


def _says_created(block: dict[str, Any], result: object) -> bool:
    """Subagents' results have no `toolUseResult`: there, the text for the model tells."""
    if isinstance(result, dict):
        return result.get("type") == "create"
    return any(text.startswith("File created successfully") for text in texts_of(block.get("content")))


def _relative(path: str, folder: str) -> str:
    folder = folder.rstrip("/\\")
    inside = folder and path.startswith(folder) and path[len(folder) : len(folder) + 1] in ("/", "\\")
    return path[len(folder) + 1 :] or path if inside else path
