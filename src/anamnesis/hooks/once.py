"""Keeps a hook from handling one event twice: several hosts also run the hooks of another."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from anamnesis.hooks.event import Event, text_of
from anamnesis.light import blake2b

# Both hosts run the hook at the same time; a slow machine may start the second this much later.
_SAME_SECONDS = 5.0
_KEPT_SECONDS = 60.0
_EVENTS = ("SessionStart", "UserPromptSubmit", "BeforeAgent", "PreCompact", "PreCompress", "SessionEnd")


def is_first(home: Path, hook: str, event: Event) -> bool:
    """Whether the event was not handled seconds ago. An event without a known name is always new."""
    session, name = text_of(event, "session_id"), text_of(event, "hook_event_name")
    if not session or name not in _EVENTS:
        return True
    size = _size(event) if hook == "capture" else ""
    about = "\0".join((session, hook, name, text_of(event, "source"), text_of(event, "prompt"), size))
    mark = home / "sessions/now" / blake2b(about.encode("utf-8", "replace"), digest_size=12).hexdigest()
    with contextlib.suppress(OSError):
        for folder in (home, mark.parent.parent, mark.parent):  # mkdir's `parents` would create them readable by others
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _forget_old(mark.parent)
        try:
            os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            if time.time() - mark.stat().st_mtime < _SAME_SECONDS:
                return False
            os.utime(mark)
    return True


def _size(event: Event) -> str:
    """The size of the transcript, which differs if a session is resumed and ends again within seconds."""
    try:
        return str(os.stat(text_of(event, "transcript_path")).st_size)
    except (OSError, ValueError):
        return ""


def _forget_old(folder: Path) -> None:
    for path in folder.iterdir():
        if time.time() - path.stat().st_mtime > _KEPT_SECONDS:
            path.unlink(missing_ok=True)
