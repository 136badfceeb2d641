"""Where the command starts: hooks, which run at every prompt, go past the command line's libraries."""

from __future__ import annotations

import sys

HOOKS = ("inject", "recall", "capture")


def main() -> None:
    """Run a hook, or else the command line."""
    name, arguments = (sys.argv[1:2] or [""])[0], sys.argv[2:]
    if name in HOOKS and not {"-h", "--help"} & set(arguments):
        from anamnesis.hooks import run

        run(name, arguments)
    else:
        from anamnesis.cli import main as command_line

        command_line()
