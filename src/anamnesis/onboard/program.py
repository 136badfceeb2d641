"""How agents start us, and how our commands are recognised among others."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PureWindowsPath
from typing import Any

from anamnesis.config import HOME_VARIABLE

HOOKS = ("inject", "recall", "capture")
VERBS = ("serve", "sync", *HOOKS)
# The keys under which hosts store commands.
LAUNCH_KEYS = ("command", "args", "cmd", "bash", "powershell", "commandWindows")
_LINES = ("command", "cmd", "bash", "powershell", "commandWindows")
_WORD = re.compile(r""""([^"]*)"|'((?:[^']++|'')*+)'|(\S+)""")


@dataclass(frozen=True, slots=True)
class Program:
    """The command that starts us, and the store's folder if it is not the default.

    If it is a launcher of ours, `runs` is the command that the launcher starts.
    """

    words: tuple[str, ...]
    store: str = ""
    windows: bool = False
    runs: tuple[str, ...] = ()

    def call(self, verb: str, *options: str) -> list[str]:
        """The words of a command. All but `serve` name the store: not every host passes its environment to hooks."""
        home = [f"--home={self.store}"] if self.store and verb != "serve" else []
        return [*self.words, verb, *options, *home]

    def line(self, verb: str, *options: str) -> str:
        """A command for the system's shell."""
        words = self.call(verb, *options)
        return subprocess.list2cmdline(words) if self.windows else shlex.join(words)

    def powershell(self, verb: str, *options: str) -> str:
        """A command for PowerShell."""
        return "& " + " ".join("'" + word.replace("'", "''") + "'" for word in self.call(verb, *options))

    def server(self, **more: Any) -> dict[str, Any]:
        """The MCP server in the form that most hosts use."""
        first, *rest = self.call("serve")
        return {**more, "command": first, "args": rest, **self.environment("env")}

    def environment(self, key: str) -> dict[str, dict[str, str]]:
        """The variables that the server needs, under the host's key."""
        return {key: {HOME_VARIABLE: self.store}} if self.store else {}


@dataclass(frozen=True, slots=True)
class Call:
    """One of our commands as found in settings, with its options."""

    verb: str
    options: tuple[str, ...]


def call_in(entry: Mapping[str, Any]) -> Call | None:
    """The command in an entry, if it is ours."""
    words = _own_words(entry)
    if len(words) < 2 or _stem(words[0]) != "anamnesis" or words[1] not in VERBS:
        return None
    return Call(words[1], tuple(words[2:]))


def program_in(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """The words of an entry that start us, without the command and its options; () if it starts something else."""
    words, own = _words(entry), _own_words(entry)
    return tuple(words[: len(words) - len(own) + 1]) if own and _stem(own[0]) == "anamnesis" else ()


def engram_options(entry: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The options of `engram mcp` in an entry that starts Engram or us; None if it starts something else."""
    words = _own_words(entry)
    if words[1:2] == ["engram"] and _stem(words[0]) == "anamnesis":
        words = words[1:]
    is_engram = len(words) > 1 and _stem(words[0]) == "engram" and words[1] == "mcp"
    return tuple(words[2:]) if is_engram else None


def engram_program(entry: Mapping[str, Any]) -> str:
    """Engram's own program as an entry names it; "" if it starts another one."""
    word = (_words(entry) or [""])[0]
    return word if _stem(word) == "engram" else ""


def as_engram(server: Mapping[str, Any], options: Sequence[str]) -> dict[str, Any]:
    """The command that starts our server as Engram's, in a host's form."""
    keys = [key for key in LAUNCH_KEYS if key in server]
    last = next(key for key in reversed(keys) if isinstance(server[key], list))
    return {**{key: server[key] for key in keys}, last: [*server[last][:-1], "engram", "mcp", *options]}


def as_before(entry: Mapping[str, Any], program: str, options: Sequence[str]) -> dict[str, Any]:
    """The command that starts Engram's own program, in the form of an entry."""
    key = next(key for key in _LINES if key in entry)
    if isinstance(entry[key], list):
        return {key: [program, "mcp", *options]}
    return {key: program, "args": ["mcp", *options]}


def renewed(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """The new command of an entry: ours with the options that the user added; empty if the entry is up to date."""
    old, new = call_in(theirs), call_in(ours)
    added = _added(old.options, new.options) if old and new else []
    wanted = {key: _with(ours[key], added, bool(ours.get("args"))) for key in LAUNCH_KEYS if key in ours}
    return {} if _words(theirs) == _words(wanted) else wanted


def _added(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """The user's options in the old command, each with its value."""
    ours = {"--home", *(word.partition("=")[0] for word in new)}
    added: list[str] = []
    keep = False
    for word in old:
        if word.startswith("-"):
            keep = word.partition("=")[0] not in ours
        if keep:
            added.append(word)
    return added


def _with(value: Any, added: Sequence[str], has_args: bool) -> Any:
    if isinstance(value, list):
        return [*value, *added]
    return value if has_args or not added else f"{value} {' '.join(_quoted(word) for word in added)}"


def _quoted(word: str) -> str:
    return word if re.fullmatch(r"[\w@%+=:,./\\-]+", word) else f'"{word}"'


def _own_words(entry: Mapping[str, Any]) -> list[str]:
    """The words of a command without the Python interpreter."""
    words = _words(entry)
    is_python = bool(words) and re.fullmatch(r"pythonw?[\d.]*", _stem(words[0])) and words[1:2] == ["-m"]
    return words[2:] if is_python else words


def _words(entry: Mapping[str, Any]) -> list[str]:
    for key in _LINES:
        value = entry.get(key)
        args = entry.get("args")
        if isinstance(value, list):
            return [str(word) for word in value]
        if isinstance(value, str):
            return [value, *map(str, args)] if isinstance(args, list) and args else _split(value)
    return []


def _split(line: str) -> list[str]:
    """The words of a shell command. Backslashes are those of Windows paths."""
    try:
        words = shlex.split(line) if "\\" not in line else [_bare(found) for found in _WORD.findall(line)]
    except ValueError:
        return []
    return words[1:] if words[:1] == ["&"] else words


def _bare(found: tuple[str, str, str]) -> str:
    doubly, singly, plain = found
    return doubly or singly.replace("''", "'") or plain


def _stem(word: str) -> str:
    """The name of a program without folders and `.exe`; Windows' rules work for both systems."""
    return PureWindowsPath(word).name.lower().removesuffix(".exe")
