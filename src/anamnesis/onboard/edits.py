"""The ways in which we change a file: pieces in somebody's settings, a block in a text, a file or a program of ours."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anamnesis.config import HOME_VARIABLE
from anamnesis.errors import AnamnesisError
from anamnesis.onboard.formats import engine
from anamnesis.onboard.pieces import Adopted, Item, Member, Needed, Piece, Server

_BEGIN = "<!-- anamnesis: begin -->"
_END = "<!-- anamnesis: end -->"
_LAUNCHER = "# anamnesis: plugins for Engram call this; `anamnesis uninstall` removes it"


class Refused(AnamnesisError):
    """A file that is left alone."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Pieces of ours in a file of settings. With `own`, the file is there for nothing else."""

    file: Path
    format: str
    pieces: tuple[Piece, ...]
    own: bool = False

    @property
    def verbs(self) -> set[str]:
        """What the agent will run of ours."""
        servers = {"serve" for piece in self.pieces if isinstance(piece, Server)}
        return servers | {piece.verb for piece in self.pieces if isinstance(piece, Item)}

    def install(self, text: str) -> str:
        """The file with our pieces in it."""
        kind = engine(self.format)
        for piece in self.pieces:
            text = piece.install(kind, text)
        return text

    def remove(self, text: str) -> str:
        """The file without them."""
        kind = engine(self.format)
        for piece in self.pieces:
            text = piece.remove(kind, text)
        return text

    def is_spent(self, text: str) -> bool:
        """Whether nothing is left in the file but what we had to write to make it a file."""
        left = engine(self.format).read(text)
        needed = {piece.path[0] for piece in self.pieces if isinstance(piece, Needed)}
        return not left or (isinstance(left, dict) and left.keys() <= needed)

    def trace(self) -> dict[str, Any]:
        """What must be known to remove the pieces later."""
        return {
            "format": self.format,
            "own": self.own,
            "servers": [list(piece.path) for piece in self.pieces if isinstance(piece, Server)],
            "items": [[piece.verb, *piece.path] for piece in self.pieces if isinstance(piece, Item)],
            "members": [list(piece.path) for piece in self.pieces if isinstance(piece, Member)],
            "needed": [list(piece.path) for piece in self.pieces if isinstance(piece, Needed)],
            "adopted": [[piece.before, *piece.path] for piece in self.pieces if isinstance(piece, Adopted)],
        }


@dataclass(frozen=True, slots=True)
class Whole:
    """A file that is ours altogether."""

    file: Path
    content: str
    runs: tuple[str, ...] = ()
    own: bool = True

    @property
    def verbs(self) -> set[str]:
        """What the agent will run of ours."""
        return set(self.runs)

    def install(self, text: str) -> str:
        """The file as it must be today."""
        return self.content

    def remove(self, text: str) -> str:
        """Nothing."""
        return ""

    def is_spent(self, text: str) -> bool:
        """Whether nothing is left in it."""
        return not text

    def trace(self) -> dict[str, Any]:
        """What must be known to remove the file later."""
        return {"format": "whole"}


@dataclass(frozen=True, slots=True)
class Block:
    """Some lines in a text for the agent, between two marks. Whoever rewords them keeps his words."""

    file: Path
    content: str
    own: bool = True  # where the text holds nothing else

    @property
    def verbs(self) -> set[str]:
        """Nothing runs."""
        return set()

    def install(self, text: str) -> str:
        """The text with the block at its end."""
        if _BEGIN in text:
            return text
        newline = "\r\n" if "\r\n" in text else "\n"
        kept = text.removeprefix("\ufeff")
        gap = newline * (0 if not kept else 1 if kept.endswith("\n") else 2)
        return text + gap + newline.join((_BEGIN, *self.content.splitlines(), _END)) + newline

    def remove(self, text: str) -> str:
        """The text without the block and the empty line before it."""
        before, begin, rest = text.partition(_BEGIN)
        _, end, after = rest.partition(_END)
        if not begin or not end:
            return text
        newline = "\r\n" if "\r\n" in text else "\n"
        return before.removesuffix(newline) + after.removeprefix(newline)

    def is_spent(self, text: str) -> bool:
        """Whether nothing is left in the text."""
        return not text.strip("\ufeff \t\r\n")

    def trace(self) -> dict[str, Any]:
        """What must be known to remove the block later."""
        return {"format": "block"}


@dataclass(frozen=True, slots=True)
class Launcher:
    """A program called `engram` that starts us. Nobody else's is ever overwritten."""

    file: Path
    words: tuple[str, ...]
    store: str = ""
    own: bool = True

    @property
    def verbs(self) -> set[str]:
        """No agent is told to run it; plugins do."""
        return set()

    def install(self, text: str) -> str:
        """The program as it must be today."""
        if text and not is_launcher(text):
            raise Refused("It is another program", "Move it away and try again.")
        home = f"export {HOME_VARIABLE}={shlex.quote(self.store)}\n" if self.store else ""
        return f'#!/bin/sh\n{_LAUNCHER}\n{home}exec {shlex.join(self.words)} engram "$@"\n'

    def remove(self, text: str) -> str:
        """Nothing, if it is still ours."""
        return "" if is_launcher(text) else text

    def is_spent(self, text: str) -> bool:
        """Whether nothing is left in it."""
        return not text

    def trace(self) -> dict[str, Any]:
        """What must be known to remove it later."""
        return {"format": "launcher"}


def is_launcher(text: str) -> bool:
    """Whether a program is the one that we write."""
    return text.startswith(f"#!/bin/sh\n{_LAUNCHER}\n")


Edit = Settings | Whole | Block | Launcher


def from_trace(file: Path, trace: dict[str, Any]) -> Edit:
    """The edit that left a trace, as far as it is needed to remove it."""
    if trace["format"] == "whole":
        return Whole(file, "")
    if trace["format"] == "block":
        return Block(file, "")
    if trace["format"] == "launcher":
        return Launcher(file, ())
    pieces: list[Piece] = [Server(tuple(path), {}) for path in trace["servers"]]
    pieces += [Item(tuple(path), verb, {}) for verb, *path in trace["items"]]
    pieces += [Member(tuple(path), "anamnesis") for path in trace["members"]]
    pieces += [Needed(tuple(path), None) for path in trace["needed"]]
    pieces += [Adopted(tuple(path), {}, before) for before, *path in trace.get("adopted", ())]
    return Settings(file, trace["format"], tuple(pieces), trace["own"])
