"""The arguments of a verb, parsed as by Go's loops over `os.Args`, and its output, always in UTF-8."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from anamnesis.engram.gotext import whole
from anamnesis.plain import plain


class Stop(Exception):
    """A verb has failed: the message for stderr, and the exit code."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


@dataclass(slots=True)
class CommandLine:
    """A parsed command line: words, the values of flags, and switches."""

    words: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    switches: set[str] = field(default_factory=set)

    def text(self, flag: str, default: str = "") -> str:
        return self.values.get(flag, default)

    def number(self, flag: str, default: int) -> int:
        """A value as a whole number; the default if it is missing or not a number."""
        number = whole(self.values.get(flag, ""))
        return default if number is None else number


def parse(arguments: Sequence[str], flags: str = "", switches: str = "", *, equals: bool = False) -> CommandLine:
    """Parse the arguments. A flag at the end without its value is ignored; an unknown argument is a word.

    With `equals`, `--flag=value` is accepted as well; most of Engram's verbs do not accept it.
    """
    given = CommandLine()
    known = flags.split()
    rest = iter(arguments)
    for argument in rest:
        flag, sign, joined = argument.partition("=")
        if equals and sign and flag in known:
            given.values[flag] = joined
        elif argument in known:
            value = next(rest, None)
            if value is not None:
                given.values[argument] = value
        elif argument in switches.split():
            given.switches.add(argument)
        else:
            given.words.append(argument)
    return given


def print_out(text: str) -> None:
    """Print a result."""
    sys.stdout.buffer.write(plain(text).encode())


def piped() -> str:
    """The text on standard input."""
    return sys.stdin.buffer.read().decode("utf-8-sig", "replace").removesuffix("\n")


def print_err(text: str) -> None:
    """Print a message, if there is one."""
    sys.stdout.flush()
    if text:
        sys.stderr.buffer.write(plain(text).encode() + b"\n")
        sys.stderr.flush()


def ask(question: str) -> str:
    """Print a question and read the first word of the answer, in lower case; "" if there is none."""
    print_out(question)
    sys.stdout.flush()
    words = sys.stdin.readline().split()
    return words[0].lower() if words else ""
