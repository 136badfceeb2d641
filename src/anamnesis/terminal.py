"""Keeps texts from controlling the terminal: everything that we print passes through `plain`.

The streams are guarded, not the commands, so that no command can forget it. Drawing uses `sys.__stdout__`.
"""

from __future__ import annotations

import io
import sys

from anamnesis.plain import plain


class _Plain(io.TextIOWrapper):
    """A stream that drops control, format and other hidden characters."""

    def write(self, text: str) -> int:
        super().write(plain(text))
        return len(text)


def guard() -> None:
    """Guard stdout and stderr of this process: results, messages, usage errors and tracebacks."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):  # there is none under pythonw
            # Write-through keeps the order with the unguarded stream, which shares the buffer.
            guarded = _Plain(
                stream.buffer, stream.encoding, stream.errors, line_buffering=stream.line_buffering, write_through=True
            )
            setattr(sys, name, guarded)
