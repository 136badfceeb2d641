"""Where the command starts: what agents start goes past the libraries of the command line, as Engram's verbs do."""

from __future__ import annotations

import gc
import os
import sys
from typing import NoReturn

from anamnesis.terminal import guard

HOOKS = ("inject", "recall", "capture")
_HELP = {"-h", "--help"}


def main() -> None:
    """Run a hook, a verb of Engram, the server of an agent, or else the command line."""
    guard()
    name, arguments = (sys.argv[1:2] or [""])[0], sys.argv[2:]
    if _is_engram(sys.argv[0]):
        _run_verb(sys.argv[1:])
    elif name == "engram" and arguments and not _HELP & set(arguments):
        _run_verb(arguments)
    elif name in HOOKS and not _HELP & set(arguments):
        _run_hook(name, arguments)
    elif sys.argv[1:] == ["serve"]:
        _serve()
    else:
        from anamnesis.cli import main as command_line

        command_line()


def _is_engram(program: str) -> bool:
    """Whether the program is a link or a copy that is called `engram`."""
    return os.path.basename(program).lower() in ("engram", "engram.exe")


def _run_hook(name: str, arguments: list[str]) -> NoReturn:
    """Run a hook without collecting garbage and without clearing modules at the end: a prompt waits for it.

    The one took a tenth of the time, the other a fifth. A hook has closed and flushed what it used.
    """
    gc.disable()
    from anamnesis.hooks import run

    run(name, arguments)
    os._exit(0)


def _serve() -> None:
    from anamnesis.server import run

    try:
        run()
    except KeyboardInterrupt:
        sys.exit(130)


def _run_verb(arguments: list[str]) -> None:
    from anamnesis.verbs import run

    run(arguments)
