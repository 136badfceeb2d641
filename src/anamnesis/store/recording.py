"""Records a use of notes as a line of usage.jsonl; appending never waits and never fails. Hooks import this."""

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
# The size at which nothing more is recorded until the lines are counted.
_MOST_BYTES = 4_000_000
_MOST_IDS = 200
_LONGEST_ID = 128
# How often the file is opened again because it was just moved away to be read.
_TRIES = 5


def record(root: Path, kind: Kind, ids: Iterable[str], session: str = "") -> None:
    """Record a use of notes by a session; without a session, all uses of a day count as one.

    It is lost if the disk cannot be written.
    """
    some = [id for id in ids if len(id) <= _LONGEST_ID][:_MOST_IDS]
    if not some:
        return
    by = session_hash(session or f"on {date.today()}")
    line = json.dumps({"at": int(time.time()), "kind": kind, "session": by, "ids": some})
    with contextlib.suppress(OSError):
        for _ in range(_TRIES):
            file = os.open(root / LINES, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                # The leading line end terminates a line that a full disk has cut.
                if _append(file, f"\n{line}\n".encode()):
                    return
            finally:
                os.close(file)


def _append(file: int, data: bytes) -> bool:
    """Append, unless the file is full; False if another process has moved it to read it, or has removed it."""
    if not try_lock(file, shared=True):
        return False
    status = os.fstat(file)
    if status.st_nlink and status.st_size < _MOST_BYTES:
        os.write(file, data)
    return status.st_nlink > 0


def session_hash(session: str) -> str:
    """The hash of a session's id: enough to tell sessions apart, without recording which one it was."""
    return blake2b(session.encode("utf-8", "replace"), digest_size=8).hexdigest()
