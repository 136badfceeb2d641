"""Where the program starts: hooks and Engram's verbs run without the libraries of the command line."""

from __future__ import annotations

import os
import sys

from anamnesis.terminal import guard

HOOKS = ("inject", "recall", "capture")
_HELP = {"-h", "--help"}


def main() -> None:
    """Run a hook, a verb of Engram, or else the command line."""
    guard()
    name, arguments = (sys.argv[1:2] or [""])[0], sys.argv[2:]
    if _is_engram(sys.argv[0]):
        _run_verb(sys.argv[1:])
    elif name == "engram" and arguments and not _HELP & set(arguments):
        _run_verb(arguments)
    elif name in HOOKS and not _HELP & set(arguments):
        from anamnesis.hooks import run

        run(name, arguments)
    else:
        from anamnesis.cli import main as command_line

        command_line()


def _is_engram(program: str) -> bool:
    """Whether the program is a link or a copy that is called `engram`."""
    return os.path.basename(program).lower() in ("engram", "engram.exe")


def _run_verb(arguments: list[str]) -> None:
    from anamnesis.engram_cli import run

    run(arguments)
