"""The notes that each session has received, so that none is injected twice. A file per session, kept for a week."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path

from anamnesis.disk import write_atomically
from anamnesis.light import blake2b

_KEPT_SECONDS = 7 * 86_400


def received_notes(home: Path, session: str) -> set[str]:
    """The ids of the notes that a session has received."""
    try:
        known = json.loads(_file(home, session).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return set()
    return {each for each in known if isinstance(each, str)} if isinstance(known, list) else set()


def record_received(home: Path, session: str, ids: set[str]) -> None:
    """Record the notes that a session has received."""
    if not session:
        return
    path = _file(home, session)
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if not path.exists():
            _forget_old(path.parent)
        # Not durable: a lost file only means that a note is injected twice.
        write_atomically(path, json.dumps(sorted(ids)).encode(), durable=False)


def has_started(home: Path, session: str) -> bool:
    """Whether notes were injected into a session, or there were none. A session without an id counts as started."""
    return not session or _file(home, session).exists()


def record_told(home: Path, session: str, space: str) -> None:
    """Record the shared space that a session was told of: its summary goes there."""
    record_received(home, _of_space(session), {space})


def told_space(home: Path, session: str) -> str:
    """The shared space to which a session was told that its summary goes; "" if none, or if that is not known."""
    return next(iter(received_notes(home, _of_space(session))), "") if session else ""


def forget(home: Path, session: str) -> None:
    """Forget what a session received, as a compaction has dropped it."""
    with contextlib.suppress(OSError):
        _file(home, session).unlink()


def _of_space(session: str) -> str:
    return f"{session}\nspace" if session else ""


def _file(home: Path, session: str) -> Path:
    name = blake2b(session.encode("utf-8", "replace"), digest_size=12).hexdigest()
    return home / "sessions" / f"{name}.json"


def _forget_old(folder: Path) -> None:
    for path in folder.glob("*.json"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _KEPT_SECONDS:
                path.unlink()
