"""Records a use of notes: a line appended to usage.jsonl, which waits for nobody and never fails. Hooks import this."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from anamnesis.disk import try_lock
from anamnesis.light import blake2b

if TYPE_CHECKING:
    from anamnesis.store.strength import Kind

LINES = "usage.jsonl"
# Bytes of lines that nobody has read; then nothing is recorded until somebody does.
_MOST_BYTES = 4_000_000
_MOST_IDS = 200
_LONGEST_ID = 128
# How often the file is opened again because it was just moved away to be read.
_TRIES = 5


def record(root: Path, kind: Kind, ids: Iterable[str], session: str = "") -> None:
    """Record a use of notes by a session; without one, by whoever works on this machine today.

    It is lost where the disk cannot be written.
    """
    some = [id for id in ids if len(id) <= _LONGEST_ID][:_MOST_IDS]
    if not some:
        return
    by = hidden(session or f"on {date.today()}")
    line = json.dumps({"at": int(time.time()), "kind": kind, "session": by, "ids": some})
    with contextlib.suppress(OSError):
        for _ in range(_TRIES):
            file = os.open(root / LINES, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                # The line end before it completes a line that a full disk has cut.
                if _append(file, f"\n{line}\n".encode()):
                    return
            finally:
                os.close(file)


def _append(file: int, data: bytes) -> bool:
    """Append, unless the file is full; False if somebody has moved it away and is reading it, or has removed it."""
    if not try_lock(file, shared=True):
        return False
    status = os.fstat(file)
    if status.st_nlink and status.st_size < _MOST_BYTES:
        os.write(file, data)
    return status.st_nlink > 0


def hidden(session: str) -> str:
    """A session as its hash: which one it was concerns nobody, whether it was another does."""
    return blake2b(session.encode("utf-8", "replace"), digest_size=8).hexdigest()
