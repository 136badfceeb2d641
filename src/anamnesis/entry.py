"""The entry point. Hooks, Engram's verbs, `serve` and `tui` run without the libraries of the command line."""

from __future__ import annotations

import gc
import io
import os
import sys
from typing import NoReturn

from anamnesis.errors import AnamnesisError, explained
from anamnesis.plain import plain

HOOKS = ("inject", "recall", "capture")
_HELP = {"-h", "--help"}
# Modules that dataclasses, pathlib and subprocess import but no hook uses: a tenth of the time of a prompt's hook.
_UNUSED = ("inspect", "ipaddress", "locale")


class _Plain(io.TextIOWrapper):
    """A stream that drops control, format and other hidden characters, so that no text controls the terminal."""

    def write(self, text: str) -> int:
        super().write(plain(text))
        return len(text)


def main() -> None:
    """Run the program. An error that a user can act on is one sentence on stderr and exit code 1, not a traceback."""
    _guard_streams()
    try:
        _run()
    except BrokenPipeError:
        raise
    except (AnamnesisError, OSError) as error:
        sys.exit(f"anamnesis: {explained(error) if isinstance(error, OSError) else error}")
    except KeyboardInterrupt:
        sys.exit(130)


def _run() -> None:
    """Run a hook, a verb of Engram, `serve`, the terminal application, or else the command line."""
    name, arguments = (sys.argv[1:2] or [""])[0], sys.argv[2:]
    if _is_engram(sys.argv[0]):
        _run_verb(sys.argv[1:])
    elif name == "engram" and arguments and not _HELP & set(arguments):
        _run_verb(arguments)
    elif name in HOOKS and not _HELP & set(arguments):
        _run_hook(name, arguments)
    elif sys.argv[1:] == ["serve"]:
        _serve()
    elif sys.argv[1:] in ([], ["tui"]) and _is_terminal():
        _run_tui()
    else:
        from anamnesis.cli import main as command_line

        command_line()


def _is_engram(program: str) -> bool:
    """Whether the program is a link or a copy that is called `engram`."""
    return os.path.basename(program).lower() in ("engram", "engram.exe")


def _run_hook(name: str, arguments: list[str]) -> NoReturn:
    """Run a hook without garbage collection and without Python's cleanup at exit, as the prompt waits for it.

    Collection took a tenth of the time, the cleanup a fifth. A hook closes and flushes all it uses itself.
    """
    from anamnesis.light import defer

    gc.disable()
    for module in _UNUSED:
        defer(module)
    from anamnesis.hooks import run

    run(name, arguments)
    os._exit(0)


def _serve() -> None:
    from anamnesis.server import run

    run()


def _is_terminal() -> bool:
    """Whether input and output are a terminal that can draw a screen."""
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout)):
        return False
    from anamnesis.tui import refusal

    return not refusal()  # the command line prints the reason


def _run_tui() -> None:
    """Run the terminal application without click, for an earlier first frame."""
    from anamnesis.config import resolve_settings
    from anamnesis.log import warn
    from anamnesis.tui import run

    settings = resolve_settings()
    for sentence in settings.refused:
        warn(sentence)
    run(settings)


def _run_verb(arguments: list[str]) -> None:
    from anamnesis.engram_cli import run

    run(arguments)


def _guard_streams() -> None:
    """Pass all output of this process through `plain`: results, messages, usage errors and tracebacks.

    The streams are guarded, not the commands, so that no command can forget it. Drawing uses `sys.__stdout__`.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):  # None under pythonw
            # Write-through keeps the order with the unguarded stream, which shares the buffer.
            guarded = _Plain(
                stream.buffer, stream.encoding, stream.errors, line_buffering=stream.line_buffering, write_through=True
            )
            setattr(sys, name, guarded)
