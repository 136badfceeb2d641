"""Notes of a session's start that its host is told with the next prompt. One small file per session, read once."""

from __future__ import annotations

import contextlib
from pathlib import Path

from anamnesis.disk import write_atomically
from anamnesis.hooks.told import session_file


def hold(home: Path, session: str, text: str) -> None:
    """Keep the context of a session's start."""
    with contextlib.suppress(OSError):
        write_atomically(_file(home, session), text.encode("utf-8", "replace"), durable=False)


def release(home: Path, session: str) -> str:
    """The context that was kept for a session; "" if there is none."""
    try:
        text = _file(home, session).read_text("utf-8")
        _file(home, session).unlink()
    except OSError:
        return ""
    return text


def _file(home: Path, session: str) -> Path:
    return session_file(home, f"start of {session}")
