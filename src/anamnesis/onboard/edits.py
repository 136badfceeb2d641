"""The kinds of edits: entries in shared settings, a block in a text, a file of ours, a launcher program."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from anamnesis.config import HOME_VARIABLE
from anamnesis.errors import AnamnesisError
from anamnesis.onboard.formats import engine
from anamnesis.onboard.pieces import (
    AllowListEntry,
    Item,
    OwnValue,
    Piece,
    RedirectedServer,
    RequiredValue,
    RetiredItem,
    Server,
    entries,
    home_named,
)

# Whether a folder, "" for the default one, is that of another memory of this user.
IsOther = Callable[[str], bool]
# A plugin in JavaScript has the commands as JSON.
_HOME_IN_CALL = re.compile(r'"--home=((?:[^"\\]|\\(?!"--home=).)*+)"')
_BEGIN = "<!-- anamnesis: begin -->"
_END = "<!-- anamnesis: end -->"
_LAUNCHER = "#!/bin/sh\n# anamnesis: "
_ENGRAM_LAUNCHER = """\
plugins for Engram call this; `anamnesis uninstall` removes it
{home}exec {words} engram "$@"
"""
# If the program is gone, one that was installed for the user later runs instead, unless it links to this launcher.
_AGENT_LAUNCHER = """\
agents call this; `anamnesis uninstall` removes it
[ -x {first} ] && exec {words} "$@"
installed="$HOME/.local/bin/anamnesis"
[ -x "$installed" ] && ! [ "$installed" -ef "$0" ] && exec "$installed" "$@"
echo "anamnesis: "{first}" is gone. Run \\`anamnesis init\\` with the program that is there now." >&2
exit 127
"""


def no_other(_: str) -> bool:
    return False


class RefusedEdit(AnamnesisError):
    """A file that is not changed."""


@dataclass(frozen=True, slots=True)
class SettingsEdit:
    """Our entries in a settings file. With `own`, the file exists for them alone."""

    file: Path
    format: str
    pieces: tuple[Piece, ...]
    own: bool = False

    @property
    def verbs(self) -> set[str]:
        """Our commands that the agent runs."""
        servers = {"serve" for piece in self.pieces if isinstance(piece, Server)}
        return servers | {piece.verb for piece in self.pieces if isinstance(piece, Item)}

    def install(self, text: str) -> str:
        """The file with our entries."""
        kind = engine(self.format)
        for piece in self.pieces:
            text = piece.install(kind, text)
        return text

    def remove(self, text: str, is_other: IsOther = no_other) -> str:
        """The file without our entries, except those of another memory."""
        kind = engine(self.format)
        has_others = any(map(is_other, self.homes(text)))
        for piece in self.pieces:
            if isinstance(piece, Server | Item | RetiredItem | RedirectedServer):
                text = piece.remove(kind, text, lambda entry: is_other(home_named(entry)))
            elif not has_others:
                text = piece.remove(kind, text)
        return text

    def homes(self, text: str) -> set[str]:
        """The folders of the memories that our entries name; "" for the default one."""
        document = engine(self.format).read(text)
        return {home_named(entry) for piece in self.pieces for entry in entries(piece, document)}

    def is_spent(self, text: str) -> bool:
        """Whether only the values are left that make the file valid."""
        left = engine(self.format).read(text)
        needed = {piece.path[0] for piece in self.pieces if isinstance(piece, RequiredValue)}
        return not left or (isinstance(left, dict) and left.keys() <= needed)

    def trace(self) -> dict[str, Any]:
        """What is needed to remove the entries later."""
        return {
            "format": self.format,
            "own": self.own,
            "servers": [list(piece.path) for piece in self.pieces if isinstance(piece, Server)],
            "items": [[piece.verb, *piece.path] for piece in self.pieces if isinstance(piece, Item | RetiredItem)],
            "members": [list(piece.path) for piece in self.pieces if isinstance(piece, AllowListEntry)],
            "needed": [list(piece.path) for piece in self.pieces if isinstance(piece, RequiredValue)],
            "values": [list(piece.path) for piece in self.pieces if isinstance(piece, OwnValue)],
            "adopted": [[piece.before, *piece.path] for piece in self.pieces if isinstance(piece, RedirectedServer)],
        }


class _TextEdit:
    """Shared by the edits of plain text: an empty file is deleted."""

    __slots__ = ()
    format: ClassVar[str]
    own: ClassVar[bool] = True

    @property
    def verbs(self) -> set[str]:
        """Our commands that the agent runs."""
        return set()

    def homes(self, text: str) -> set[str]:
        """The folders of the memories that the text names; none if it is the same for all."""
        return set()

    def is_spent(self, text: str) -> bool:
        """Whether nothing is left in the file."""
        return not text.strip("\ufeff \t\r\n")

    def trace(self) -> dict[str, Any]:
        """What is needed to remove the edit later."""
        return {"format": self.format}


@dataclass(frozen=True, slots=True)
class OwnFile(_TextEdit):
    """A file that is entirely ours."""

    format = "whole"

    file: Path
    content: str
    runs: tuple[str, ...] = ()

    @property
    def verbs(self) -> set[str]:
        return set(self.runs)

    def install(self, text: str) -> str:
        return self.content

    def remove(self, text: str, is_other: IsOther = no_other) -> str:
        return text if any(map(is_other, self.homes(text))) else ""

    def homes(self, text: str) -> set[str]:
        found = {json.loads(f'"{named}"') for named in _HOME_IN_CALL.findall(text)}
        return found or ({""} if text and self.runs else set())


@dataclass(frozen=True, slots=True)
class TextBlock(_TextEdit):
    """Lines in a text for the agent, between two marks. A block that the user has changed is not overwritten."""

    format = "block"

    file: Path
    content: str

    def install(self, text: str) -> str:
        """The text with the block at its end."""
        if _BEGIN in text:
            return text
        newline = "\r\n" if "\r\n" in text else "\n"
        kept = text.removeprefix("\ufeff")
        gap = newline * (0 if not kept else 1 if kept.endswith("\n") else 2)
        return text + gap + newline.join((_BEGIN, *self.content.splitlines(), _END)) + newline

    def remove(self, text: str, is_other: IsOther = no_other) -> str:
        """The text without the block and the empty line before it."""
        before, begin, rest = text.partition(_BEGIN)
        _, end, after = rest.partition(_END)
        if not begin or not end:
            return text
        newline = "\r\n" if "\r\n" in text else "\n"
        return before.removesuffix(newline) + after.removeprefix(newline)


@dataclass(frozen=True, slots=True)
class Launcher(_TextEdit):
    """A program that starts us, for agents, or as `engram` for its plugins. No other program is ever overwritten."""

    format = "launcher"

    file: Path
    words: tuple[str, ...]
    store: str = ""
    is_engram: bool = False

    def install(self, text: str) -> str:
        if text and not is_launcher(text):
            raise RefusedEdit("It is another program", "Move it away and try again.")
        home = f"export {HOME_VARIABLE}={shlex.quote(self.store)}\n" if self.store else ""
        script = _ENGRAM_LAUNCHER if self.is_engram else _AGENT_LAUNCHER
        return _LAUNCHER + script.format(home=home, words=shlex.join(self.words), first=shlex.quote(self.words[0]))

    def remove(self, text: str, is_other: IsOther = no_other) -> str:
        return "" if is_launcher(text) and not any(map(is_other, self.homes(text))) else text

    def homes(self, text: str) -> set[str]:
        """Only Engram's launcher names one: an agent's is in the home itself."""
        if not is_launcher(text) or ' engram "$@"' not in text:
            return set()
        named = [line for line in text.splitlines() if line.startswith(f"export {HOME_VARIABLE}=")]
        return {shlex.split(named[0])[1].partition("=")[2] if named else ""}


def is_launcher(text: str) -> bool:
    """Whether a program is a launcher that we wrote."""
    return text.startswith(_LAUNCHER)


def launched(text: str) -> tuple[str, ...]:
    """The words of the program that a launcher starts; none if it is not one for agents."""
    lines = text.splitlines() if is_launcher(text) else []
    line = lines[2] if len(lines) > 2 else ""
    try:
        return tuple(shlex.split(line.rpartition(" && exec ")[2])[:-1]) if " && exec " in line else ()
    except ValueError:
        return ()


Edit = SettingsEdit | OwnFile | TextBlock | Launcher


def from_trace(file: Path, trace: dict[str, Any]) -> Edit:
    """The edit of a trace, with all that `remove` needs."""
    if trace["format"] == "whole":
        return OwnFile(file, "")
    if trace["format"] == "block":
        return TextBlock(file, "")
    if trace["format"] == "launcher":
        return Launcher(file, ())
    pieces: list[Piece] = [Server(tuple(path), {}) for path in trace["servers"]]
    pieces += [Item(tuple(path), verb, {}) for verb, *path in trace["items"]]
    pieces += [AllowListEntry(tuple(path), "anamnesis") for path in trace["members"]]
    pieces += [RequiredValue(tuple(path), None) for path in trace["needed"]]
    pieces += [OwnValue(tuple(path), None) for path in trace.get("values", ())]
    pieces += [RedirectedServer(tuple(path), {}, before) for before, *path in trace.get("adopted", ())]
    return SettingsEdit(file, trace["format"], tuple(pieces), trace["own"])
