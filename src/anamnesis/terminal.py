"""Keeps texts from commanding the terminal: whatever a program of ours prints goes through `plain`.

The streams are guarded, not the commands, so that none can forget it. What draws for people writes to `sys.__stdout__`.
"""

from __future__ import annotations

import io
import sys

from anamnesis.plain import plain


class _Plain(io.TextIOWrapper):
    """A stream that passes on no control, format or other hidden character."""

    def write(self, text: str) -> int:
        super().write(plain(text))
        return len(text)


def guard() -> None:
    """Guard stdout and stderr of this process: results, messages, usage errors and tracebacks."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):  # not where there is none, as under pythonw
            # Written through: the unguarded stream shares the buffer, and what is printed keeps its order.
            guarded = _Plain(
                stream.buffer, stream.encoding, stream.errors, line_buffering=stream.line_buffering, write_through=True
            )
            setattr(sys, name, guarded)
